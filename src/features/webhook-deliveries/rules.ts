/**
 * Decisions about deliveries that the specification leaves open:
 *  * A requested retry is made even while the endpoint is paused, like a test, because the client
 *    wants to see the outcome now. A bulk resend goes to active endpoints only: nobody watches each
 *    of its outcomes. The app's count names the paused endpoints that it leaves out.
 *  * A retry that is requested while an attempt is in flight is made after that attempt, unless the
 *    attempt succeeds. Several requests before it ends count as one.
 *  * The health of an endpoint is that of its last deliveries, not of a time: a receiver that gets
 *    one delivery a week has a success rate, too.
 *  * The list of an endpoint's deliveries is the contract's while none of our parameters is given.
 *    With one of them it is the list of the app, by pages, with the event of each delivery.
 *  * A bulk resend of one status looks at the failed deliveries as they are when their batch comes.
 *    Its `total` is counted among the first 10,000 failed ones, so that no count is unbounded.
 *  * Failed tests are not sent again, and somebody may test a dead endpoint every second. A count
 *    passes 10,000 of them. Behind more, `total` is what was found before and `has_more` is true,
 *    also if nothing follows. The resend itself looks on, batch by batch.
 *  * Of a receiver's answer the values of the event's personal fields are not kept. It may quote
 *    them, and is shown for 30 days, also when `member_detail_enabled` is off again or the person
 *    is deleted. Rejected: null while the switch is off. The answer of a team that never had the
 *    switch on holds nothing of the kind, and is what its developers need.
 *  * What is sent again, one by one or in bulk, leaves out the person if the switch is off by then,
 *    or the person was deleted. So do the scheduled attempts that follow it. Those before it send
 *    the bytes of the event, by the specification.
 *  * What a program may ask of deliveries is what an admin may in the app, by the same services.
 */
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../core/delivery-status.ts';
import { invalidField } from '../../core/problem.ts';

/** The states of a resend of many deliveries. */
export const RESEND_STATES = ['running', 'done', 'cancelled'] as const;

/** Of how many of its last deliveries the success rate of an endpoint is made. */
export const RECENT = 100;

/** Up to how many failed, and how many waiting deliveries of an endpoint are counted. */
export const COUNTED_MAX = 1_000;

/** The parts of a count of which COUNTED_MAX is shown. The last ones lose what is over. */
export function partsShown(parts: readonly number[]): number[] {
  let left = COUNTED_MAX;
  return parts.map((count) => {
    const shown = Math.min(count, left);
    left -= shown;
    return shown;
  });
}

/** How many failed tests of an endpoint the count of a resend passes. */
export const PINGS_PASSED_MAX = 10_000;

/** In how many seconds deliveries are due, as the backlog groups them. A last group has no end. */
export const BACKLOG_WITHIN_S = [0, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400] as const;

/** How long ago a delivery was created that failed lately. */
export const LATELY_MS = 24 * 60 * 60 * 1000;

/** What a list of deliveries may be limited to: a status, or both of those that failed. */
export const LIST_STATUSES = [...DELIVERY_STATUSES, 'failed'] as const;

/** Throws `validation_error` (field `status`) for what is no status of a list. */
export function requireListStatus(status: string): DeliveryStatus | 'failed' {
  const known = LIST_STATUSES.find((one) => one === status);
  if (known) return known;
  throw invalidField('status', `Not a status. There are: ${LIST_STATUSES.join(', ')}.`);
}

/** Which failed deliveries a resend may be limited to. `failed`: all. */
export const RESEND_STATUSES = ['failed', 'retrying', 'gave_up'] as const;

/** Returns null for all. Throws `validation_error` (field `status`) for anything else. */
export function requireResendStatus(status: string): 'retrying' | 'gave_up' | null {
  if (status === 'retrying' || status === 'gave_up') return status;
  if (status === 'failed') return null;
  throw invalidField('status', `One of: ${RESEND_STATUSES.join(', ')}.`);
}

/**
 * Throws `validation_error` (field `delivery_id`) for a delivery that has succeeded, or whose first
 * attempt is still to come.
 */
export function requireRetryable(status: string): void {
  if (status === 'retrying' || status === 'gave_up') return;
  throw invalidField(
    'delivery_id',
    'Only a delivery that is retrying or gave up can be retried.',
    'not_retryable',
  );
}
