/**
 * When a delivery is attempted again: a pure function of its row and of how the attempt ended.
 *
 *   pending ──2xx──▶ ok          pending, retrying ──failed, waits left──▶ retrying ──failed, none left──▶ gave_up
 *   an attempt that was asked for (…/retry) ──2xx──▶ ok; ──failed──▶ as it was: a retrying delivery keeps its time, a gave_up one stays given up
 *
 * Waits count from the end of the attempt. `Retry-After` of a 429 or 503 may only lengthen one, and not beyond a day.
 */
export type DeliveryStatus = 'pending' | 'retrying' | 'ok' | 'gave_up';

export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Attempts made, those that were asked for included. */
  readonly attempt: number;
  readonly extraAttempts: number;
  readonly nextTryAt: Date | null;
}

export interface AttemptEnd {
  readonly ok: boolean;
  readonly at: Date;
  /** Somebody asked for this attempt; it does not use up the schedule. */
  readonly isExtra: boolean;
  readonly retryAfterS: number | null;
}

const RETRY_AFTER_MAX_S = 86_400;

export function nextState(state: DeliveryState, end: AttemptEnd, delaysS: readonly number[]): DeliveryState {
  const attempt = state.attempt + 1;
  const extraAttempts = state.extraAttempts + (end.isExtra ? 1 : 0);
  if (end.ok) return { status: 'ok', attempt, extraAttempts, nextTryAt: null };
  if (end.isExtra) return { ...state, attempt, extraAttempts };
  const delayS = delaysS[attempt - extraAttempts - 1];
  if (delayS === undefined) return { status: 'gave_up', attempt, extraAttempts, nextTryAt: null };
  const waitS = Math.max(delayS, Math.min(end.retryAfterS ?? 0, RETRY_AFTER_MAX_S));
  return { status: 'retrying', attempt, extraAttempts, nextTryAt: new Date(end.at.getTime() + waitS * 1000) };
}

/** `Retry-After` in seconds from `now`: a number, or an HTTP date; null for anything else. */
export function parseRetryAfter(value: string | string[] | undefined, now: Date): number | null {
  if (typeof value !== 'string') return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value), RETRY_AFTER_MAX_S);
  const at = /^[A-Z][a-z]{2}, .* GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1000));
}
