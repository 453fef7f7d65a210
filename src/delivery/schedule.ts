/**
 * When a delivery is attempted again: a pure function of its row and of how the attempt ended.
 *
 *   pending, retrying ── 2xx ──▶ ok
 *   pending, retrying ── failed, waits left ──▶ retrying
 *   pending, retrying ── failed, no waits left ──▶ gave_up
 *
 * Attempts that somebody asked for lead to ok as well, and use up no wait. If a requested one
 * (…/retry) fails, nothing changes: a retrying delivery keeps its next time, and one that gave up
 * stays so. If a resent one fails, the last wait begins again; without waits left it gives up.
 *
 * Waits count from the end of the attempt. `Retry-After` of a 429 or 503 can lengthen a wait up to
 * a day, and never shortens one.
 */
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { parseHttpDate } from '../core/http-date.ts';

/** What the schedule knows of a delivery. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Attempts made, those included that somebody asked for. */
  readonly attempt: number;
  /** Those of the attempts that used up the schedule. Only `nextState` counts them. */
  readonly scheduledAttempts: number;
  readonly nextTryAt: Date | null;
}

/** Why an attempt is made: it was due, or an admin or a client asked for it. */
export type AttemptCause = 'scheduled' | 'requested' | 'resent';

/** How an attempt ended, as far as the schedule is concerned. */
export interface AttemptEnd {
  readonly ok: boolean;
  readonly at: Date;
  readonly cause: AttemptCause;
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
  const scheduledAttempts = state.scheduledAttempts + (end.cause === 'scheduled' ? 1 : 0);
  if (end.ok) return { status: 'ok', attempt, scheduledAttempts, nextTryAt: null };
  if (end.cause === 'requested') return { ...state, attempt, scheduledAttempts };
  const delayS = delaysS[Math.max(1, scheduledAttempts) - 1];
  if (delayS === undefined)
    return { status: 'gave_up', attempt, scheduledAttempts, nextTryAt: null };
  const waitS = Math.max(delayS, Math.min(end.retryAfterS ?? 0, RETRY_AFTER_MAX_S));
  const nextTryAt = new Date(end.at.getTime() + waitS * 1000);
  return { status: 'retrying', attempt, scheduledAttempts, nextTryAt };
}

/**
 * Reads a `Retry-After` header, a number or an HTTP date, as seconds from `now`. Returns null for
 * anything else.
 */
export function parseRetryAfter(value: string | string[] | undefined, now: Date): number | null {
  if (typeof value !== 'string') return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value), RETRY_AFTER_MAX_S);
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1000));
}
