/**
 * `GET /events` is our addition to the specification. It lets a program read what its webhooks have
 * missed, and serves `team-customer-api listen`. What is decided here:
 *  * A personal field is shown if the privacy switches allowed it when the event happened, and
 *    allow it now. What they withheld then was never stored. A webhook sends the bytes of then at
 *    every attempt, also at one that is requested later: a receiver gets the same event each time.
 *  * Of a type that this version does not know, nothing is shown while `member_detail_enabled` is
 *    off: which of its fields are personal is not known.
 *  * `api_version` is the current version. A webhook endpoint may have an older one.
 *  * A `ping` is an event, too. Events are kept for 30 days, and longer while deliveries wait.
 *  * An unknown type is an error of the field `type`: an empty list would hide a misspelling.
 *  * An event may become visible a moment after the time it has, when its transaction commits. A
 *    reader that polls with `since` lets the ranges overlap.
 */
import { EVENT_TYPES, isEventType } from '../../core/events.ts';
import { invalidField } from '../../core/problem.ts';

/** Throws `validation_error` (field `type`) for a type that no event can have. */
export function requireEventType(type: string): void {
  if (isEventType(type)) return;
  throw invalidField('type', `Not an event type. There are: ${EVENT_TYPES.join(', ')}.`);
}
