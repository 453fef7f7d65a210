/**
 * When a delivery is attempted again: a pure function of its row and of how the attempt ended.
 *
 *   pending, retrying ── 2xx ──▶ ok
 *   pending, retrying ── failed, waits left ──▶ retrying
 *   pending, retrying ── failed, no waits left ──▶ gave_up
 *
 * A requested attempt (…/retry) leads to ok as well. If it fails, nothing changes: a retrying
 * delivery keeps its next time, and one that gave up stays so.
 *
 * Waits count from the end of the attempt. `Retry-After` of a 429 or 503 can lengthen a wait up to
 * a day, and never shortens one.
 */
export type DeliveryStatus = 'pending' | 'retrying' | 'ok' | 'gave_up';

/** What the schedule knows of a delivery. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Attempts made, requested ones included. */
  readonly attempt: number;
  /** Those of the attempts that do not use up the schedule. */
  readonly extraAttempts: number;
  readonly nextTryAt: Date | null;
}

/** How an attempt ended, as far as the schedule is concerned. */
export interface AttemptEnd {
  readonly ok: boolean;
  readonly at: Date;
  /** Whether the attempt was requested, so that it does not use up the schedule. */
  readonly isExtra: boolean;
  readonly retryAfterS: number | null;
}

const RETRY_AFTER_MAX_S = 86_400;

/**
 * Returns the delivery after an attempt. `delaysS` are the waits before the second attempt, before
 * the third one, and so on.
 */
export function nextState(
  state: DeliveryState,
  end: AttemptEnd,
  delaysS: readonly number[],
): DeliveryState {
  const attempt = state.attempt + 1;
  const extraAttempts = state.extraAttempts + (end.isExtra ? 1 : 0);
  if (end.ok) return { status: 'ok', attempt, extraAttempts, nextTryAt: null };
  if (end.isExtra) return { ...state, attempt, extraAttempts };
  const delayS = delaysS[attempt - extraAttempts - 1];
  if (delayS === undefined) return { status: 'gave_up', attempt, extraAttempts, nextTryAt: null };
  const waitS = Math.max(delayS, Math.min(end.retryAfterS ?? 0, RETRY_AFTER_MAX_S));
  const nextTryAt = new Date(end.at.getTime() + waitS * 1000);
  return { status: 'retrying', attempt, extraAttempts, nextTryAt };
}

/**
 * Reads a `Retry-After` header, a number or an HTTP date, as seconds from `now`. Returns null for
 * anything else.
 */
export function parseRetryAfter(value: string | string[] | undefined, now: Date): number | null {
  if (typeof value !== 'string') return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value), RETRY_AFTER_MAX_S);
  const at = /^[A-Z][a-z]{2}, .* GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1000));
}
