/**
 * `GET /events` is our addition to the specification. It lets a program read what its webhooks have
 * missed, and serves `team-customer-api listen`. What is decided here:
 *  * A personal field is shown if the privacy switches allowed it when the event happened, and
 *    allow it now. What they withheld then was never stored. A webhook that is sent again obeys
 *    both, too (delivery/claim-store.ts).
 *  * Of a type that this version does not know, nothing is shown while `member_detail_enabled` is
 *    off: which of its fields are personal is not known.
 *  * `api_version` is the current version. A webhook endpoint may have an older one.
 *  * A `ping` is an event, too. Events are kept for 30 days, and longer while deliveries wait.
 *  * An unknown type is an error of the field `type`: an empty list would hide a misspelling.
 *  * An event may become visible a moment after the time it has, when its transaction commits. A
 *    reader that polls with `since` lets the ranges overlap.
 *  * `order=asc` never skips an event, whenever it commits. Its order is that of `place`, which a
 *    worker gives each event within a second after its commit (delivery/rounds.ts):
 *      1. Places of one team are given by one transaction at a time, under a lock of the team.
 *      2. They lie behind the last place of the team, which is read after the lock was taken, and
 *         the lock is released after the commit.
 *      3. So whoever sees a place sees all places before it, and none will be given there any more.
 *      4. The commit is on disk before anybody sees it: no crash takes back what a reader has seen.
 *    It holds for any number of processes, since nothing depends on their clocks. On Citus all rows
 *    of a team are in one shard, and the lock is taken there. After a dump was restored or a shard
 *    moved, places are what they were. They begin with the time in microseconds, so that those of
 *    deleted events are not given again.
 *    What is not promised: after a failover to a standby that has lost commits, as with everything
 *    else; and without a worker the list stands still, and goes on with the next one.
 *    Rejected: ids of transactions (`pg_snapshot_xmin`). They begin again in a restored dump, each
 *    node of Citus has its own, and any long transaction of the server would stop the list. A lag
 *    that no transaction exceeds: Postgres does not limit the time of a transaction of several
 *    statements. A number at the INSERT: all changes of a team would wait for each other.
 *  * `after` is `now`, a `next_after`, or an event of the team that is kept. Else the error of its
 *    field says to start over: what followed a deleted event may be deleted, too. That the event is
 *    of another team cannot be told from that.
 *  * `after=now` begins behind the team's last place. All that was not committed by then gets a
 *    later one (2. above), and so does what was shown without a place: that comes once more.
 *  * The id of the newest event is no such beginning. An event is listed, and sent to webhooks,
 *    before it has its place. It gets it behind events that were committed later and are older by
 *    `created_at`: their calls waited for a lock, or the clock of their process is behind. Nobody
 *    knows the order of the commits by then. So whoever begins behind an event that has no place
 *    begins behind the last place that was given. One that got its place since it was seen may be
 *    behind some that the reader has not seen, and so may one of a clock that is minutes behind
 *    (`delivery/fan-out.ts`): the order says what is behind an event, and nothing more is promised.
 *    Rejected: to list only events that have a place. Without a worker nothing new would be listed,
 *    and with one it would come half a second late. Places in the order of commits: Postgres keeps
 *    it only if it is started so (`track_commit_timestamp`).
 *  * `next_after` is the last event that was looked at, which a filter by type may have left out.
 *    At the end of the list it also has the event's place and the day of the reading. What follows
 *    it then is younger than that day, and kept for {@link EVENT_KEEP_MS}: who reads on within four
 *    weeks skips nothing, although the event may be deleted, as in a team where little happens. A
 *    day less than the events are kept is left for those that get their place late.
 *    `cursor` leads through the pages of one reading, and does not end with its event.
 *  * `since` is refused with `order=asc`: the order is not that of the times.
 */
import { EVENT_KEEP_MS } from '../../core/events.ts';
import { invalidField, type ProblemError } from '../../core/problem.ts';

/** The orders of the list. Without: the newest first, by the times of the events. */
export const ORDERS = ['asc', 'desc'] as const;

/** What a call has to say about the order. */
export interface WantedOrder {
  readonly order?: string | undefined;
  readonly after?: string | undefined;
  readonly since?: string | undefined;
}

/**
 * Whether the events are read in the order of their places. Throws `validation_error` (field
 * `order`, `after` or `since`).
 */
export function isInOrder({ order = 'desc', after, since }: WantedOrder): boolean {
  if (order === 'asc') {
    if (since === undefined) return true;
    throw invalidField('since', 'Not with order=asc: begin with `after`, or with the oldest.');
  }
  if (order !== 'desc') throw invalidField('order', `One of: ${ORDERS.join(', ')}.`);
  if (after === undefined) return false;
  throw invalidField('after', 'Only with order=asc.');
}

/** Where a page in the order of the places has ended: an event and its place. */
export interface Place {
  readonly place: string;
  readonly id: string;
}

const PLACE_FORM = /^(\d{1,18})\.(.+)$/s;

/** The position of a place in a cursor. */
export function formatPlace({ place, id }: Place): string {
  return `${place}.${id}`;
}

/** Reads it. Throws `validation_error` (field `cursor`). */
export function parsePlace(position: string): Place {
  const [, place, id] = PLACE_FORM.exec(position) ?? [];
  if (place && id) return { place, id };
  throw invalidField('cursor', 'This list did not issue the cursor.', 'invalid_cursor');
}

/** Where a page begins or ends: an event, if there is one, and its place, if it is known. */
export interface Start {
  readonly id: string | null;
  readonly place: string | null;
}

const DAY_MS = 86_400_000;
const END_FORM = /^(.+)\.(\d{1,18})\.(\d{4}-\d{2}-\d{2})$/s;

/** What to ask with, after a page that ended with the list. null: nothing has ever happened. */
export function formatEnd({ id, place }: Start, now: Date): string | null {
  if (id === null || place === null) return id;
  return `${id}.${place}.${now.toISOString().slice(0, 10)}`;
}

/** As `after`: with what becomes visible from now on. No event has this id. */
export const NOW = 'now';
/** Where that begins before any event has a place: null would be to begin anew each time. */
export const FIRST: Start = { id: NOW, place: '0' };

/** Reads `after`: what {@link formatEnd} gave, or the id of an event. */
export function parseAfter(after: string | undefined, now: Date): Start {
  const [, id, place, day] = END_FORM.exec(after ?? '') ?? [];
  if (!id || !place || !day) return { id: after ?? null, place: null };
  const isKept = now.getTime() - Date.parse(day) < EVENT_KEEP_MS - DAY_MS;
  return { id, place: isKept ? place : null };
}

/** The error for an `after` that is no event of the team, or no longer. */
export function startOver(): ProblemError {
  return invalidField(
    'after',
    'No event has this id. Events are deleted after 30 days. Start over without `after`.',
    'unknown_event',
  );
}
