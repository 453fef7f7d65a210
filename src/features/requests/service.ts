import type { Actor } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import { isLockTimeout } from '../../db/errors.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import { toInstants } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import { pagesOfTeams } from '../../db/team-pages.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { RequestRow } from './store.ts';

const LIST = 'requests';

/** What a search is asked for. All given filters must match. */
export interface RequestQuery extends PageQuery {
  readonly request_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly route?: string | undefined;
  readonly status?: number | undefined;
  readonly status_class?: rules.StatusClass | undefined;
  readonly error_code?: string | undefined;
  /** ISO in any time zone, inclusive. */
  readonly since?: string | undefined;
  /** ISO in any time zone, exclusive. */
  readonly until?: string | undefined;
}

/**
 * Lists calls of the last seven days, newest first. A page can hold fewer than its limit, or none,
 * although `next_cursor` leads to others. Throws `validation_error` (field `cursor`).
 */
export function listRequests(
  db: Db,
  clock: Clock,
  teamId: string,
  { cursor, limit, request_id, status_class, since, until, ...filters }: RequestQuery,
): Promise<Page<RequestRow>> {
  const wanted = {
    ...filters,
    ...rules.searchedTime(clock.now(), { ...toInstants({ since, until }), requestId: request_id }),
    id: request_id,
    statuses: rules.statusesOf(status_class),
  };
  return readPage(LIST, { cursor, limit }, (slice) =>
    store.listRequests(db, teamId, slice, wanted),
  );
}

/** How many teams one statement asks for old calls: it takes tens of milliseconds. */
const TEAMS_PER_STATEMENT = 1_000;

/**
 * Removes the calls that are too old, of all teams: it is the operator's job. Opens a transaction
 * for each day that goes at once. While somebody reads such a day, as a backup does for long, it is
 * left to the next run; after a day of that this fails.
 */
export async function removeOldRequests(
  db: Db,
  now: Date,
  keptDays = rules.KEPT_DAYS_MAX,
): Promise<void> {
  const before = rules.oldestKept(now, keptDays);
  const overdue = rules.oldestKept(now, keptDays + 1);
  let isRead = false;
  for (const slot of rules.expiredSlots(now, keptDays)) {
    if (!(await store.hasOld(db, slot, before))) continue;
    try {
      await db.transaction((tx) => Promise.resolve(store.emptySlot(tx, slot)));
    } catch (error) {
      if (!isLockTimeout(error) || (await store.hasOld(db, slot, overdue))) throw error;
      isRead = true;
    }
  }
  if (isRead) return;
  for await (const teamIds of pagesOfTeams(db, TEAMS_PER_STATEMENT)) {
    let removed: number;
    do removed = await store.removeOld(db, teamIds, before);
    while (removed > 0);
  }
}

/** Returns a call of the actor's own key; for an admin, of any key. Throws `not_found`. */
export async function getRequest(
  db: Db,
  clock: Clock,
  { teamId, actor, id }: { readonly teamId: string; readonly actor: Actor; readonly id: string },
): Promise<RequestRow> {
  const at = rules.timeOfRequest(id);
  // An unknown id costs the same statement, wherever it is looked for.
  const row = await store.findRequest(db, teamId, {
    id,
    slot: rules.slotOf(at ?? clock.now()),
    since: rules.oldestShown(clock.now()),
    keyId: actor.kind === 'api_key' ? actor.id : null,
  });
  if (!row) throw notFound();
  return row;
}
