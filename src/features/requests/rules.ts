/**
 * The request log: the calls of a team's API keys in the last seven days at most. What is decided
 * here:
 *  * A call is logged if its key is valid, whatever comes of it. Others belong to no team. Calls of
 *    the app are not logged; the audit log has its changes.
 *  * Nothing that was sent is kept: the route and not the path, no query, no body. Of `errors`, the
 *    code and the place, and of the place only names that the operation declares, and misspelt
 *    ones of ASCII characters (`dueDate`, `due_dte`): any other unknown name may be anything, a
 *    person's too. Query parameters that were ignored are among them, with the code `ignored`,
 *    whatever came of the call. The caller's address is cut to its /24 (IPv6: /48) network.
 *  * It is written two seconds late, in batches. A killed process loses what it has not written,
 *    two seconds of calls. While the database does not answer, the newest calls are left out, once
 *    10,000 wait. A call that the database refuses is left out, and logged as an error: it must not
 *    hold up those of all teams. The log never delays or fails a call.
 *  * A key finds its own calls only, in the app an admin finds all. An older call, one of another
 *    team and one that is not written yet are `not_found` alike.
 *  * Days are kept in ten partitions in turn. Emptying the partition of eight days ago leaves the
 *    last seven days, today, and a day before and behind for clocks that differ. With
 *    `REQUEST_LOG_DAYS`, those of later days are emptied, too.
 *  * If no removal ran for a day, the partition of tomorrow still has the calls of nine days ago.
 *    It is emptied as well, with the calls of processes whose clock is ahead of that midnight.
 *    After more days, old calls lie among newer ones. Each run asks for them by team and time, so
 *    no call outlives the days that are kept, however long the removal was away. They go in
 *    batches, because the newer ones stay. Rejected: an index by time, for which each request would
 *    pay.
 *  * A search reads `READ_MAX` calls for a page at most. Then it returns what it has found, which
 *    may be nothing, with a cursor behind the last call that it has read. So each page gets on, and
 *    the last one is at the end of the seven days. Rejected: an index for each filter, for which
 *    each request would pay when it is written; a time limit, whose pages end by chance.
 *  * With `REQUEST_LOG_SAMPLE`, only a share of the calls that were answered without an error is
 *    logged. Which ones, their ids decide, so that all processes agree. Nothing counts the rows of
 *    the log: the usage of keys, and the alerts made of it, come from counters of all calls
 *    (`features/usage`). A call that is left out is `not_found`, like one of another team.
 */
const DAY_MS = 86_400_000;
/** How many days are kept, and shown. */
export const KEPT_DAYS_MAX = 7;
const KEEP_MS = KEPT_DAYS_MAX * DAY_MS;

/**
 * How many calls a search reads for a page. In memory, that takes 15 ms where the calls lie beside
 * each other, and 65 ms where the team makes one of forty, so that each lies in a block of its own;
 * for 50,000 it was 130 and 250 ms. From a disk, the latter are 10,000 single reads: 2.5 s if one
 * takes 0.25 ms, and a statement may take 4.5 s. (Postgres 18, one core of a busy machine.)
 */
export const READ_MAX = 10_000;

/** How many partitions the days take in turn. */
export const SLOTS = 10;

/** Returns the partition of a call that came at this time. */
export function slotOf(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS) % SLOTS;
}

/** Calls before this moment are removed: days end at midnight in UTC. */
export function oldestKept(now: Date, keptDays: number): Date {
  return new Date((Math.floor(now.getTime() / DAY_MS) - keptDays) * DAY_MS);
}

/**
 * Returns the partitions to empty if they have calls that are not kept: those of the days before
 * `oldestKept` that are not those of newer days as well, but for tomorrow.
 */
export function expiredSlots(now: Date, keptDays: number): readonly number[] {
  const daysAgo = Array.from({ length: SLOTS - 1 - keptDays }, (_, n) => keptDays + 1 + n);
  return daysAgo.map((days) => slotOf(new Date(now.getTime() - days * DAY_MS)));
}

/** The random end of a UUIDv7 has so many hex digits, and numbers so large. */
const RANDOM_DIGITS = 12;
const RANDOM_END = 16 ** RANDOM_DIGITS;

/** Whether a call is logged. `share`: of the calls without an error, from 0 to 1. */
export function isLogged(
  { requestId, status }: { readonly requestId: string; readonly status: number },
  share: number,
): boolean {
  if (status >= 400 || share >= 1) return true;
  return Number.parseInt(requestId.slice(-RANDOM_DIGITS), 16) < share * RANDOM_END;
}

/** Calls before this moment are not shown. */
export function oldestShown(now: Date): Date {
  return new Date(now.getTime() - KEEP_MS);
}

/**
 * Returns the time that a search covers, as ISO text in UTC; `since` is inclusive, `until`
 * exclusive. It begins with the calls that are shown, and for an id it is the millisecond in which
 * that was made. An id that is not ours, or not of these days, no call has.
 */
export function searchedTime(
  now: Date,
  {
    since,
    until,
    requestId,
  }: { readonly [name in 'since' | 'until' | 'requestId']?: string | undefined },
): { readonly since: string; readonly until: string | undefined } {
  const oldest = oldestShown(now);
  const first = oldest.toISOString();
  if (requestId === undefined)
    return { since: since !== undefined && since > first ? since : first, until };
  const ms = timeOfRequest(requestId)?.getTime() ?? 0;
  if (ms < oldest.getTime() || ms > now.getTime() + DAY_MS) return { since: first, until: first };
  const [made = first, end = first] = [ms, ms + 1].map((each) => new Date(each).toISOString());
  return {
    since: since !== undefined && since > made ? since : made,
    until: until !== undefined && until < end ? until : end,
  };
}

export type StatusClass = '2xx' | '3xx' | '4xx' | '5xx' | 'errors';

/** The lowest and the highest status of a class; of none, any. */
export function statusesOf(given: StatusClass | undefined): readonly [min: number, max: number] {
  if (given === undefined) return [0, 999];
  if (given === 'errors') return [400, 599];
  const first = Number.parseInt(given, 10) * 100;
  return [first, first + 99];
}

const REQUEST_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns when the request with this id came: a UUIDv7 holds it. null: no id of ours. */
export function timeOfRequest(requestId: string): Date | null {
  const [, high, low] = REQUEST_ID.exec(requestId) ?? [];
  return high && low ? new Date(Number.parseInt(high + low, 16)) : null;
}

/** A fault of a refused call, or a parameter that was ignored, as it is kept. */
export interface LoggedFault {
  readonly path: string;
  readonly code: string;
}

/**
 * Returns what is kept of the `errors` of a response. `declared`: the names of the operation's
 * parameters and fields. null: there are none.
 */
export function keptFaults(errors: unknown, declared: ReadonlySet<string>): LoggedFault[] | null {
  if (!Array.isArray(errors)) return null;
  return (errors as { readonly path?: unknown; readonly code?: unknown }[]).map((error) => {
    const [place = '', name = ''] = String(error.path).split('.');
    return { path: keptPath(place, name, declared), code: String(error.code) };
  });
}

/**
 * Returns what is kept of the query parameters that the operation has ignored: the same names as of
 * faults, and one entry for all others.
 */
export function keptIgnored(
  names: readonly string[],
  declared: ReadonlySet<string>,
): LoggedFault[] | null {
  if (names.length === 0) return null;
  const paths = new Set(names.map((name) => keptPath('query', name, declared)));
  return Array.from(paths, (path) => ({ path, code: 'ignored' }));
}

function keptPath(place: string, name: string, declared: ReadonlySet<string>): string {
  return declared.has(name) || isMisspelt(name, declared) ? `${place}.${name}` : place;
}

/** The longest declared name is shorter. */
const NAME_MAX_CHARACTERS = 40;
/** No control character, which no database stores, and no letter that only looks like another. */
const PLAIN = /^[\x20-\x7E]*$/;
/** With shorter names, two letters would make any other one. */
const MISSPELT_MIN_CHARACTERS = 5;
const MISSPELT_MAX_LETTERS = 2;

/** Whether it is one of the names but for its case, its underscores, or two letters. */
function isMisspelt(name: string, declared: ReadonlySet<string>): boolean {
  if (name.length > NAME_MAX_CHARACTERS || !PLAIN.test(name)) return false;
  const bare = bareName(name);
  return [...declared].map(bareName).some((known) => {
    const letters = known.length < MISSPELT_MIN_CHARACTERS ? 0 : MISSPELT_MAX_LETTERS;
    // As many letters must be added or removed at least, and that is known at once.
    if (Math.abs(bare.length - known.length) > letters) return false;
    return distance(bare, known) <= letters;
  });
}

function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** How many letters must be added, removed or changed to make one text of the other. */
function distance(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of Array.from(from).entries()) {
    const next = [row + 1];
    for (let column = 0; column < to.length; column += 1) {
      const changed = (last[column] ?? 0) + (letter === to[column] ? 0 : 1);
      next.push(Math.min(changed, (last[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    last = next;
  }
  return last.at(-1) ?? 0;
}
