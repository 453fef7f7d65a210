/**
 * When a call is repeated, and how long it waits before.
 *  * Repeated are: no response, a 408, a 429, a 503, a 500 (once), the 409 of a call that is still
 *    running, and what a gateway answers. `Retry-After` says how long to wait; of a 503 it says the
 *    first wait only. Such waits grow, as those without it do.
 *  * Not repeated is what a wrong base URL gives: a redirect, or a 4xx that is none of the API. A
 *    page with 2xx and an unknown host are repeated once, because a gateway or a resolver may be
 *    starting.
 *  * All calls of a client share a budget: an outage must not multiply the load of the API by five.
 */
import { reasonOf } from './error-texts.ts';
import { ApiError, type ConnectionError } from './errors.ts';
import { timerMsOf } from './time-limit.ts';

const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 8_000;
export const UNAVAILABLE = 503;
/** Up to this the waits after a 503 double. Four of them from 2 s on outlast a failover of 25 s. */
const UNAVAILABLE_MAX_S = 16;
/** A longer `Retry-After` is left to the caller, as that of the invitations of an hour. */
const RETRY_AFTER_MAX_S = 60;
const BUDGET = 100;
/** So many successes give one repetition back. */
const SUCCESSES = 10;
/** The API says that it was called too slowly, at once or too often: no sign of an outage. */
const NO_OUTAGE = new Set([408, 409, 429]);

/** What a client may still repeat. It holds one number. */
export interface RetryBudget {
  /** Returns whether the repetition may be made, and takes it from the budget. */
  take(error: ApiError | ConnectionError): boolean;
  giveBack(): void;
}

export function makeRetryBudget(most: number = BUDGET): RetryBudget {
  // In parts of a repetition, so that it is a whole number.
  const full = most * SUCCESSES;
  let left = full;
  return {
    take: (error) => {
      if (error instanceof ApiError && NO_OUTAGE.has(error.status)) return true;
      if (left < SUCCESSES) return false;
      left -= SUCCESSES;
      return true;
    },
    giveBack: () => {
      left = Math.min(left + 1, full);
    },
  };
}

/** `retryAfterS`: what the response says, in seconds; null if nothing. `attempt` begins at 0. */
export function isWorthRepeating(
  error: ApiError | ConnectionError,
  retryAfterS: number | null,
  attempt: number,
): boolean {
  if (retryAfterS !== null && retryAfterS > RETRY_AFTER_MAX_S) return false;
  const { status } = error;
  if (!(error instanceof ApiError)) {
    if (status === null) return attempt === 0 || reasonOf(error.cause) !== 'ENOTFOUND';
    if (status >= 200 && status < 300) return attempt === 0;
    return status >= 500 || status === 429 || status === 408;
  }
  if (status === 500) return attempt === 0;
  if (status === 409) return retryAfterS !== null;
  return status === 408 || status === 429 || status === UNAVAILABLE;
}

/** How far a call has come. */
export interface Progress {
  readonly attempt: number;
  /** How many attempts before this one were answered with 503. */
  readonly unavailable: number;
  /** The time that the call has left. */
  readonly leftMs: number;
}

/** `retryAfterS`: as above. */
export function waitMsOf(
  { status }: ApiError | ConnectionError,
  retryAfterS: number | null,
  { attempt, unavailable, leftMs }: Progress,
): number {
  const growing = Math.min(FIRST_WAIT_MS * 2 ** attempt, WAIT_MAX_MS);
  // Clients that were refused together must not come back together.
  const random = growing * (0.5 + Math.random() / 2);
  if (retryAfterS === null) return random;
  const stated = retryAfterS * 1000 + random / 4;
  if (status !== UNAVAILABLE) return stated;
  // The API says the same with every 503, and not how long the outage will last. Near the end of
  // its time, a call waits no longer than it was told.
  const mostS = Math.max(retryAfterS, UNAVAILABLE_MAX_S);
  const grown = Math.min(retryAfterS * 2 ** unavailable, mostS) * 1000 + random / 4;
  return grown < leftMs ? grown : stated;
}

/** Waits 24 days at most. Rejects with the reason of the signal. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as fetch does
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, timerMsOf(ms));
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
