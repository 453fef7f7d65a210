import { parseCursor, toPage, type Page } from '../../core/page.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import * as store from './store.ts';
import type { AuditFilters, AuditRow } from './store.ts';

const LIST = 'audit_log';

/**
 * Newest first, filtered. `since` is inclusive, `until` exclusive; both are ISO in any time zone.
 * Throws `validation_error` for a foreign cursor.
 */
export async function listEntries(
  db: Db,
  teamId: string,
  query: AuditFilters & { readonly cursor?: string | undefined; readonly limit: number },
): Promise<Page<AuditRow>> {
  const { cursor, limit, since, until, ...filters } = query;
  const rows = await store.listEntries(
    db,
    teamId,
    { limit: limit + 1, after: parseCursor(LIST, cursor) },
    { ...filters, since: since && toInstant(since), until: until && toInstant(until) },
  );
  return toPage(LIST, rows, limit, (row) => ({ at: row.created_at, id: row.id }));
}
