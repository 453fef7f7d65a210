import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { toInstants } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import * as store from './store.ts';
import type { AuditFilters, AuditRow } from './store.ts';

/** What a request has recorded in a team, for the operator who caused it. */
export { listOfRequest, type RecordedRow } from './store.ts';

const LIST = 'audit_log';

/**
 * Newest first, filtered. `since` is inclusive, `until` exclusive; both are ISO in any time zone.
 * A page of a search for several things can hold fewer entries than its limit, or none, although
 * `next_cursor` leads to others. Throws `validation_error` for a foreign cursor.
 */
export async function listEntries(
  db: Db,
  teamId: string,
  query: AuditFilters & PageQuery,
): Promise<Page<AuditRow>> {
  const { cursor, limit, ...filters } = query;
  return readPage(LIST, { cursor, limit }, (slice) =>
    store.listEntries(db, teamId, slice, toInstants(filters)),
  );
}
