/**
 * Follows the events of a team by `GET /events?order=asc`, for programs that cannot receive
 * webhooks, and for what they have missed.
 *  * That order skips no event, however late it was committed. So the last event, or `next_after`,
 *    is all that there is to remember. To begin with now is to begin at its end.
 *  * An event is handled when the loop asks for the next one. After a crash what was not handled
 *    comes again: each event comes at least once.
 */
import type { Client } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { retryAfterSOf } from './retry-after.ts';
import { wait } from './retries.ts';
import { requireMs } from './time-limit.ts';
import type { WebhookEvent, WebhookEventType } from './webhook-delivery.ts';

const INTERVAL_MS = 2_000;
const OUTAGE_WAIT_MAX_MS = 30_000;
/** However long the API asks to wait. */
const ASKED_WAIT_MAX_S = 3600;
const PAGE_SIZE = 200;
/** The place before all events. */
const OLDEST = 'oldest';
/** An event that began before `since` may become visible so much later than one after it. */
const LATE_MAX_MS = 60_000;

export interface FollowOptions {
  /**
   * What `onPlace` was given last, the id of an event, or `oldest`: all events that are kept. null
   * or missing: begin at `since`.
   */
  readonly place?: string | null;
  /** Without a `place`: from when on. Events are kept for 30 days. Default: now. */
  readonly since?: Date;
  /** Only events of this type. */
  readonly type?: WebhookEventType | (string & {});
  /** How long to wait between two looks, in milliseconds. Default: 2,000. */
  readonly intervalMs?: number;
  /**
   * Called with a text to store: where the loop begins, and then after each handled event, or after
   * others were passed. Give it as `place` at the next start. The loop waits for it, and ends with
   * its error.
   */
  readonly onPlace?: (place: string) => void | Promise<void>;
  /**
   * Called if events behind `place` may be deleted, as after four weeks. The loop goes on with the
   * oldest event that is kept.
   */
  readonly onLostPlace?: () => void;
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
 * `RangeError` for an `intervalMs` that is none.
 */
export async function* followEvents(
  client: Client,
  options: FollowOptions = {},
): AsyncGenerator<WebhookEvent, void> {
  const { intervalMs = INTERVAL_MS, since, onPlace, onLostPlace, onOutage, signal } = options;
  requireMs('intervalMs', intervalMs);
  const read = readerOf(client, options);
  let place = options.place || null;
  let outages = 0;
  const moveTo = async (next: string): Promise<void> => {
    if (next === place) return;
    place = next;
    await onPlace?.(next);
  };
  while (!signal?.aborted) {
    let waitMs = intervalMs;
    try {
      await moveTo(place ?? (await read.start()));
      const page = await read.after(place ?? OLDEST);
      for (const event of page.data) {
        const isWanted =
          since === undefined || options.place || Date.parse(event.created_at) >= +since;
        if (isWanted) yield event;
        await moveTo(event.id);
        if (signal?.aborted) return;
      }
      await moveTo(page.next_after ?? place ?? OLDEST);
      outages = 0;
      if (page.next_cursor) continue;
    } catch (thrown) {
      if (signal?.aborted) return;
      if (!(thrown instanceof ReadError)) throw thrown;
      const { error } = thrown;
      if (isLostPlace(error) && place !== OLDEST) {
        onLostPlace?.();
        await moveTo(OLDEST);
        continue;
      }
      if (!isOutage(error)) throw error;
      outages += 1;
      waitMs = askedWaitMsOf(error) ?? Math.min(INTERVAL_MS * 2 ** outages, OUTAGE_WAIT_MAX_MS);
      onOutage?.({ error, waitMs });
    }
    await wait(waitMs, signal).catch(() => undefined);
  }
}

/** What a read has thrown. All other errors in the loop are the caller's. */
class ReadError extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super('A read failed.');
    this.error = error;
  }
}

interface EventPage {
  readonly data: readonly WebhookEvent[];
  readonly next_cursor: string | null;
  readonly next_after?: string | null;
}

function readerOf(
  client: Client,
  { type, since, signal }: FollowOptions,
): {
  readonly start: () => Promise<string>;
  readonly after: (place: string) => Promise<EventPage>;
} {
  const attempt = async <T>(read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      throw new ReadError(error);
    }
  };
  const ofCall = signal === undefined ? {} : { signal };
  /** The newest event of before a moment. */
  const findNewest = async (before: number): Promise<string> => {
    for await (const { id, created_at } of client.events.list({ limit: PAGE_SIZE }, ofCall))
      if (Date.parse(created_at) < before) return id;
    return OLDEST;
  };
  /** Not the newest event: one that is older and was committed later may be before it. */
  const findEnd = async (): Promise<string> => {
    const end = { order: 'asc', after: 'now', limit: 1 };
    return (await client.events.list(end, ofCall)).next_after ?? OLDEST;
  };
  return {
    /** Where what is wanted begins. */
    start: () =>
      attempt(() => (since === undefined ? findEnd() : findNewest(since.getTime() - LATE_MAX_MS))),
    after: (place) =>
      attempt(async () => {
        const after = place === OLDEST ? {} : { after: place };
        const query = { order: 'asc', limit: PAGE_SIZE, ...after, ...(type && { type }) };
        // The list has the form of webhooks, whose types are more exact.
        return (await client.events.list(query, ofCall)) as unknown as EventPage;
      }),
  };
}

function isOutage(error: unknown): error is ApiError | ConnectionError {
  if (!(error instanceof ApiError) && !(error instanceof ConnectionError)) return false;
  const { status } = error;
  // A page with another status comes of a wrong address.
  return status === null || status >= 500 || status === 429 || status === 408;
}

function isLostPlace(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422 && error.problem.field === 'after';
}

/** null if the API does not say how long to wait. */
function askedWaitMsOf(error: ApiError | ConnectionError): number | null {
  const seconds = error instanceof ApiError ? retryAfterSOf(error) : null;
  return seconds === null ? null : Math.min(Math.max(seconds, 1), ASKED_WAIT_MAX_S) * 1000;
}
