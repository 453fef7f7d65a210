import { requireEventType } from '../../core/events.ts';
import { readPage, readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { EventFilters, EventRow } from './store.ts';

const LIST = 'events';
const LIST_IN_ORDER = 'events_in_order';

/** Which events, and in which order. */
export interface EventQuery extends EventFilters, PageQuery, rules.WantedOrder {}

/** `nextAfter`: what to go on after; only in the order of the places. */
export interface EventPage extends Page<EventRow> {
  readonly nextAfter?: string | null;
}

/**
 * Lists the team's events, newest first, or in the order of their places. `since` is ISO in any
 * time zone. Throws `validation_error` (field `type`, `order`, `after`, `since` or `cursor`).
 */
export async function listEvents(
  db: Db,
  teamId: string,
  query: EventQuery,
  now: Date,
): Promise<EventPage> {
  const { cursor, limit, type, since } = query;
  if (type !== undefined) requireEventType(type, 'type');
  if (rules.isInOrder(query)) return listInOrder(db, teamId, query, now);
  const filters = { type, since: since && toInstant(since) };
  return readPage(LIST, { cursor, limit }, (slice) => store.listEvents(db, teamId, slice, filters));
}

async function listInOrder(
  db: Db,
  teamId: string,
  query: EventQuery,
  now: Date,
): Promise<EventPage> {
  const { cursor, limit, type, after } = query;
  if (after === rules.NOW && cursor === undefined) {
    const last = (await store.findLast(db, teamId)) ?? rules.FIRST;
    return { rows: [], nextCursor: null, nextAfter: rules.formatEnd(last, now) };
  }
  let end: rules.Start = { id: null, place: null };
  const { rows, nextCursor } = await readPageBy(
    (row: store.PlacedRow) => ({ at: row.created_at, id: rules.formatPlace(row) }),
    LIST_IN_ORDER,
    { cursor, limit },
    async ({ limit, after: position }) => {
      const start = position ? rules.parsePlace(position.id) : rules.parseAfter(after, now);
      const found = await store.listInOrder(db, teamId, { limit, ...start }, { type });
      if (!found) throw rules.startOver();
      const { rows, startPlace, last, hasMore } = found;
      end = last ?? { ...start, place: startPlace };
      const reached = last && hasMore ? { at: last.created_at, id: rules.formatPlace(last) } : null;
      return { rows, reached };
    },
  );
  if (nextCursor === null) return { rows, nextCursor, nextAfter: rules.formatEnd(end, now) };
  const last = (rows.length === limit && rows.at(-1)) || end;
  return { rows, nextCursor, nextAfter: last.id };
}
