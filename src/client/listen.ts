/**
 * Follows the events of a team and posts each of them to a local receiver. It asks the API every
 * two seconds. An event may become visible a moment after the time that it has, so each look begins
 * a minute before the newest known event, and known ids are skipped.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { forward, reasonOf, type ApiEvent } from './forward.ts';
import type { Options } from './command-options.ts';

const WAIT_MS = 2_000;
const WAIT_MAX_MS = 30_000;
const OVERLAP_MS = 60_000;
const TIMEOUT_MS = 30_000;

/** The API refused a request for good. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
}

/** The API cannot answer now. */
class Unavailable extends Error {
  readonly waitMs: number | null;

  constructor(message: string, waitMs: number | null) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** What `listen` needs besides the options. */
export interface Terminal {
  readonly print: (line: string) => void;
  /** Ends the loop. */
  readonly signal: AbortSignal;
}

/** Forwards events until the signal. Throws an {@link ApiError} if the API refuses to list them. */
export async function listen(
  options: Options,
  secret: string,
  { print, signal }: Terminal,
): Promise<void> {
  const position = { since: options.since, known: new Map<string, number>() };
  let waitMs = WAIT_MS;
  while (!signal.aborted) {
    try {
      if (position.since === null) {
        position.since = await readTime(options);
        print(`Waiting for events since ${position.since.toISOString()}`);
      }
      for (const event of await readNew(options, position.since, position.known)) {
        if (signal.aborted) return;
        print(await forward(event, options.forwardTo, secret));
      }
      waitMs = WAIT_MS;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      waitMs = error.waitMs ?? Math.min(waitMs * 2, WAIT_MAX_MS);
      print(`${error.message}; asking again in ${Math.round(waitMs / 1000)} s`);
    }
    // The signal ends the wait with an error, and the loop with its condition.
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The time of the API: the clock of this machine may be wrong. */
async function readTime(options: Options): Promise<Date> {
  const { date } = await ask(options, '/events?limit=1');
  return date;
}

/**
 * Returns the events since `since` that are not known yet, oldest first, and makes them known.
 * `known`: their ids, with their times in milliseconds.
 */
async function readNew(
  options: Options,
  since: Date,
  known: Map<string, number>,
): Promise<ApiEvent[]> {
  const start = since.getTime();
  const newest = [...known.values()].reduce((latest, at) => Math.max(latest, at), start);
  const from = Math.max(start, newest - OVERLAP_MS);
  const found: ApiEvent[] = [];
  const query = new URLSearchParams({ limit: '200', since: new Date(from).toISOString() });
  const [only, ...others] = options.events;
  if (only !== undefined && others.length === 0) query.set('type', only);
  for (let cursor: string | null = ''; cursor !== null;) {
    if (cursor !== '') query.set('cursor', cursor);
    const { page } = await ask(options, `/events?${query.toString()}`);
    found.push(...page.data.filter(({ id }) => !known.has(id)));
    cursor = page.next_cursor;
  }
  for (const { id, created_at } of found) known.set(id, Date.parse(created_at));
  forget(known, newest - 2 * OVERLAP_MS);
  const wanted = found.filter(
    ({ type }) => options.events.length === 0 || options.events.includes(type),
  );
  return wanted.toReversed();
}

/** Ids before the overlap are not asked for again. */
function forget(known: Map<string, number>, beforeMs: number): void {
  for (const [id, at] of known) if (at < beforeMs) known.delete(id);
}

interface EventPage {
  readonly data: readonly ApiEvent[];
  readonly next_cursor: string | null;
}

async function ask(
  { apiUrl, apiKey }: Options,
  path: string,
): Promise<{ readonly page: EventPage; readonly date: Date }> {
  const response = await fetch(apiUrl + path, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new Unavailable(`The API does not answer (${reasonOf(error)})`, null);
  });
  if (response.ok) {
    const date = new Date(response.headers.get('date') ?? Date.now());
    return { page: (await response.json()) as EventPage, date };
  }
  const text = await response.text();
  if (response.status !== 429 && response.status < 500)
    throw new ApiError(`The API refused: ${text}`);
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? Math.max(seconds, 1) * 1000 : null;
  throw new Unavailable(`The API responded with ${response.status}`, waitMs);
}
