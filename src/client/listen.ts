/**
 * Follows the events of a team and posts each of them to a local receiver. It asks the API every
 * two seconds. An event may become visible a moment after the time that it has, so each look begins
 * a minute before the newest known event, and known ids are skipped.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ask, Unavailable } from './ask.ts';
import type { Options } from './command-options.ts';
import { forward, isAccepted, type ApiEvent, type Forwarded } from './forward.ts';
import { toJson, toLine } from './output.ts';

const WAIT_MS = 2_000;
const WAIT_MAX_MS = 30_000;
const OVERLAP_MS = 60_000;

/** What `listen` needs besides the options. */
export interface Terminal {
  /** A line about an event. */
  readonly print: (line: string) => void;
  /** A line about the command itself. Default: `print`. */
  readonly note?: (line: string) => void;
  readonly isColored?: boolean;
  /** Ends the loop. */
  readonly signal: AbortSignal;
}

/** Prints what became of an event. */
export function show(
  forwarded: Forwarded,
  { isJson }: Pick<Options, 'isJson'>,
  { print, isColored = false }: Terminal,
): void {
  print(isJson ? toJson(forwarded) : toLine(forwarded, isColored));
}

/**
 * Forwards events until the signal. Returns whether the receiver accepted all of them. Throws an
 * {@link ApiError} if the API refuses to list them.
 */
export async function listen(
  options: Options,
  secret: string,
  terminal: Terminal,
): Promise<boolean> {
  const { print, note = print, signal } = terminal;
  let areAccepted = true;
  const position = { since: options.since, known: new Map<string, number>() };
  let waitMs = WAIT_MS;
  while (!signal.aborted) {
    try {
      if (position.since === null) {
        const { date } = await readEvents(options, 'limit=1', signal);
        position.since = new Date(date.getTime() - options.replayMs);
        note(`Waiting for events since ${position.since.toISOString()}`);
      }
      for (const event of await readNew(options, position.since, position.known, signal)) {
        if (signal.aborted) return areAccepted;
        const forwarded = await forward(event, options.forwardTo, secret);
        areAccepted &&= isAccepted(forwarded);
        show(forwarded, options, terminal);
      }
      waitMs = WAIT_MS;
    } catch (error) {
      if (signal.aborted) return areAccepted;
      if (!(error instanceof Unavailable)) throw error;
      waitMs = error.waitMs ?? Math.min(waitMs * 2, WAIT_MAX_MS);
      note(`${error.message}; asking again in ${Math.round(waitMs / 1000)} s`);
    }
    // The signal ends the wait with an error, and the loop with its condition.
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
  return areAccepted;
}

/**
 * Returns the events since `since` that are not known yet, oldest first, and makes them known.
 * `known`: their ids, with their times in milliseconds.
 */
async function readNew(
  options: Options,
  since: Date,
  known: Map<string, number>,
  signal: AbortSignal,
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
    const { page } = await readEvents(options, query.toString(), signal);
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

async function readEvents(
  { apiUrl, apiKey }: Options,
  query: string,
  signal: AbortSignal,
): Promise<{ readonly page: EventPage; readonly date: Date }> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const { body, date } = await ask(`${apiUrl}/events?${query}`, { headers, signal });
  if (!Array.isArray(body['data'])) throw new Unavailable('The response is no list of events');
  return { page: body as unknown as EventPage, date };
}
