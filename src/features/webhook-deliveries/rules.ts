/**
 * Decisions about deliveries that the specification leaves open:
 *  * A requested retry is made even while the endpoint is paused, like a test, because the client
 *    wants to see the outcome now.
 *  * A retry that is requested while an attempt is in flight is made after that attempt, unless the
 *    attempt succeeds. Several requests before it ends count as one.
 */
import { invalidField } from '../../core/problem.ts';

/** The states of a resend of many deliveries. */
export const RESEND_STATES = ['running', 'done', 'cancelled'] as const;

/**
 * Throws `validation_error` (field `delivery_id`) for a delivery that has succeeded, or whose first
 * attempt is still to come.
 */
export function requireRetryable(status: string): void {
  if (status === 'retrying' || status === 'gave_up') return;
  throw invalidField('delivery_id', 'Only a delivery that is retrying or gave up can be retried.');
}
