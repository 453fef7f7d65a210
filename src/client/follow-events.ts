/**
 * Follows the events of a team by `GET /events`, oldest first, for programs that cannot receive
 * webhooks, and for what they have missed.
 *  * An event may become visible a moment after the time that it has. So each look begins a minute
 *    before the newest handled event, and known ids are skipped.
 *  * The list is newest first. Of a long past the first walk keeps one mark for each page, and the
 *    second one reads the pages again from the oldest, so memory holds one page of events.
 *  * An event is handled when the loop asks for the next one. After a crash what was not handled
 *    comes again: each event comes at least once.
 */
import type { Client } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { retryAfterSOf } from './retry-after.ts';
import { wait } from './retries.ts';
import type { WebhookEvent, WebhookEventType } from './webhook-delivery.ts';

const INTERVAL_MS = 2_000;
const OUTAGE_WAIT_MAX_MS = 30_000;
/** However long the API asks to wait. */
const ASKED_WAIT_MAX_S = 3600;
const OVERLAP_MS = 60_000;
const PAGE_SIZE = 200;
/** So many ids a place holds at most. In a busier minute, some events come again after a start. */
const PLACE_MAX_IDS = 1000;

export interface FollowOptions {
  /** What `onPlace` was given last. null or missing: begin at `since`. */
  readonly place?: string | null;
  /** Without a `place`: from when on. Events are kept for 30 days. Default: now. */
  readonly since?: Date;
  /** Only events of this type. */
  readonly type?: WebhookEventType | (string & {});
  /** How long to wait between two looks, in milliseconds. Default: 2,000. */
  readonly intervalMs?: number;
  /**
   * Called after each handled event with a text to store. Give it as `place` at the next start. The
   * loop waits for it, and ends with its error.
   */
  readonly onPlace?: (place: string) => void | Promise<void>;
  /** Called when the API cannot answer. The loop asks again after `waitMs`. */
  readonly onOutage?: (outage: {
    readonly error: ApiError | ConnectionError;
    readonly waitMs: number;
  }) => void;
  /** Ends the loop without an error. */
  readonly signal?: AbortSignal;
}

/**
 * Yields each event, and then those that happen, until the signal or a `break`. Throws the
 * {@link ApiError} of a refusal, such as a key that ended; outages are waited out. Throws a
 * `TypeError` for a `place` that is none.
 */
export async function* followEvents(
  client: Client,
  options: FollowOptions = {},
): AsyncGenerator<WebhookEvent, void> {
  const { intervalMs = INTERVAL_MS, onPlace, onOutage, signal } = options;
  const known = new Map<string, number>();
  const read = readerOf(client, options);
  let start = options.since?.getTime() ?? null;
  let newest = -Infinity;
  if (options.place) {
    newest = readPlace(options.place, known);
    start = newest - OVERLAP_MS;
  }
  let outages = 0;
  while (!signal?.aborted) {
    let waitMs = intervalMs;
    try {
      start ??= await read.now();
      const since = new Date(Math.max(start, newest - OVERLAP_MS)).toISOString();
      for await (const event of readSince(read.page, since)) {
        if (known.has(event.id)) continue;
        yield event;
        const at = Date.parse(event.created_at);
        newest = Math.max(newest, at);
        remember(known, event.id, at, newest);
        await onPlace?.(writePlace(newest, known));
        if (signal?.aborted) return;
      }
      outages = 0;
    } catch (thrown) {
      if (signal?.aborted) return;
      if (!(thrown instanceof Outage)) throw thrown;
      outages += 1;
      waitMs = thrown.waitMs ?? Math.min(INTERVAL_MS * 2 ** outages, OUTAGE_WAIT_MAX_MS);
      onOutage?.({ error: thrown.error, waitMs });
    }
    await wait(waitMs, signal).catch(() => undefined);
  }
}

/** What another look may change. Only reads make it: the loop's own errors are the caller's. */
class Outage extends Error {
  readonly error: ApiError | ConnectionError;
  /** What the API asks for; null if it does not say. */
  readonly waitMs: number | null;

  constructor(error: ApiError | ConnectionError) {
    super(error.message);
    this.error = error;
    const seconds = error instanceof ApiError ? retryAfterSOf(error) : null;
    this.waitMs = seconds === null ? null : Math.min(Math.max(seconds, 1), ASKED_WAIT_MAX_S) * 1000;
  }
}

interface EventPage {
  readonly data: readonly WebhookEvent[];
  readonly next_cursor?: string | null;
}
type ReadPage = (since: string, cursor: string | undefined) => Promise<EventPage>;

function readerOf(
  client: Client,
  { type, signal }: FollowOptions,
): { readonly page: ReadPage; readonly now: () => Promise<number> } {
  const attempt = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      if (isOutage(error)) throw new Outage(error);
      throw error;
    }
  };
  const ofCall = signal === undefined ? {} : { signal };
  return {
    page: (since, cursor) =>
      attempt(async () => {
        const more = {
          ...(type !== undefined && { type }),
          ...(cursor !== undefined && { cursor }),
        };
        const page = await client.events.list({ limit: PAGE_SIZE, since, ...more }, ofCall);
        // The list has the form of webhooks, whose types are more exact.
        return page as unknown as EventPage;
      }),
    /** The time of the API: the clock of this machine may be wrong. */
    now: () =>
      attempt(async () => {
        let date = NaN;
        const onResponse = ({ headers }: { readonly headers: Headers }): void => {
          date = Date.parse(headers.get('date') ?? '');
        };
        await client.events.list({ limit: 1 }, { ...ofCall, onResponse });
        return Number.isNaN(date) ? Date.now() : date;
      }),
  };
}

function isOutage(error: unknown): error is ApiError | ConnectionError {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  if (!(error instanceof ConnectionError)) return false;
  const { status } = error;
  // A page with another status comes of a wrong address.
  return status === null || status >= 500 || status === 429 || status === 408;
}

/** Where a page begins. */
interface Mark {
  readonly cursor: string | undefined;
  readonly first: WebhookEvent;
}

/** Yields the events since then, oldest first. */
async function* readSince(read: ReadPage, since: string): AsyncGenerator<WebhookEvent, void> {
  const marks: Mark[] = [];
  let cursor: string | undefined;
  let oldest: readonly WebhookEvent[] = [];
  for (;;) {
    const page = await read(since, cursor);
    const [first] = page.data;
    if (first !== undefined) {
      marks.push({ cursor, first });
      oldest = page.data;
    }
    if (!page.next_cursor) break;
    cursor = page.next_cursor;
  }
  yield* oldest.toReversed();
  for (let older = marks.pop(), mark = marks.pop(); mark && older; mark = marks.pop()) {
    const events = await readBetween(read, since, mark, older);
    yield* events.toReversed();
    older = mark;
  }
}

/**
 * Reads the page of the mark again, up to the mark of the next older page. Events that have become
 * visible in between move the others to later pages, so the next cursor is followed. What is newer
 * than the first page comes at the next look.
 */
async function readBetween(
  read: ReadPage,
  since: string,
  { cursor: start, first }: Mark,
  { first: end }: Mark,
): Promise<WebhookEvent[]> {
  const found: WebhookEvent[] = [];
  let hasBegun = start !== undefined;
  for (let cursor = start; ;) {
    const page = await read(since, cursor);
    for (const event of page.data) {
      if (event.id === end.id || event.created_at < end.created_at) return found;
      hasBegun ||= event.id === first.id;
      if (hasBegun) found.push(event);
    }
    if (!page.next_cursor) return found;
    cursor = page.next_cursor;
  }
}

/** Ids before the overlap are not asked for again. */
function remember(known: Map<string, number>, id: string, at: number, newest: number): void {
  known.set(id, at);
  for (const [one, time] of known) {
    if (time >= newest - OVERLAP_MS) break;
    known.delete(one);
  }
}

function writePlace(newest: number, known: ReadonlyMap<string, number>): string {
  const ids = [...known.keys()].slice(-PLACE_MAX_IDS);
  return [new Date(newest).toISOString(), ...ids].join(' ');
}

/** Adds the ids of the place to `known`. Returns the time of the newest handled event. */
function readPlace(place: string, known: Map<string, number>): number {
  const [time = '', ...ids] = place.split(' ');
  const newest = /^\d{4}-\d\d-\d\dT/.test(time) ? Date.parse(time) : NaN;
  if (Number.isNaN(newest)) throw new TypeError('place is none that onPlace was given.');
  for (const id of ids) known.set(id, newest);
  return newest;
}
