import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { EventFilters, EventRow } from './store.ts';

const LIST = 'events';

/**
 * Lists the team's events, newest first. `since` is ISO in any time zone. Throws
 * `validation_error` (field `type` or `cursor`).
 */
export async function listEvents(
  db: Db,
  teamId: string,
  { cursor, limit, type, since }: EventFilters & PageQuery,
): Promise<Page<EventRow>> {
  if (type !== undefined) rules.requireEventType(type);
  const filters = { type, since: since && toInstant(since) };
  return readPage(LIST, { cursor, limit }, (slice) => store.listEvents(db, teamId, slice, filters));
}
