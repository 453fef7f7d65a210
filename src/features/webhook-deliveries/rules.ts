/**
 * Decisions about deliveries that the specification leaves open:
 *  * A requested retry is made even while the endpoint is paused, like a test, because the client
 *    wants to see the outcome now.
 *  * A retry that is requested while an attempt is in flight is made after that attempt, unless the
 *    attempt succeeds. Several requests before it ends count as one.
 *  * The health of an endpoint is that of its last deliveries, not of a time: a receiver that gets
 *    one delivery a week has a success rate, too.
 */
import { invalidField } from '../../core/problem.ts';

/** The states of a resend of many deliveries. */
export const RESEND_STATES = ['running', 'done', 'cancelled'] as const;

/** Of how many of its last deliveries the success rate of an endpoint is made. */
export const RECENT = 100;

/** Up to how many failed, and how many waiting deliveries of an endpoint are counted. */
export const COUNTED_MAX = 1_000;

/** In how many seconds deliveries are due, as the backlog groups them. A last group has no end. */
export const BACKLOG_WITHIN_S = [0, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400] as const;

/** How long ago a delivery was created that failed lately. */
export const LATELY_MS = 24 * 60 * 60 * 1000;

/**
 * Throws `validation_error` (field `delivery_id`) for a delivery that has succeeded, or whose first
 * attempt is still to come.
 */
export function requireRetryable(status: string): void {
  if (status === 'retrying' || status === 'gave_up') return;
  throw invalidField('delivery_id', 'Only a delivery that is retrying or gave up can be retried.');
}
