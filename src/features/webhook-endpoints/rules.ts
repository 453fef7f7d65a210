/**
 * Decisions about webhook endpoints that the specification leaves open:
 *  * What is wrong with a target is told as the field `url`: its form, its scheme, what it resolves to (delivery/target.ts). So is the limit of 50 endpoints.
 *  * `events` that the shape lets through and the service does not (none at all, `ping`, an unknown type) are told as the field `events`. An event type is
 *    not an enumeration of the request's shape, because v1 may add types. Repeated types collapse; the order in which they were first named stays.
 *  * A request sets the status `active` or `disabled`; anything else is a validation error of the field `status`. `active` forgets since when deliveries
 *    have failed, whatever the status was: somebody vouches for the receiver, and the three days begin anew.
 *  * A change of the `url` checks the new one. An endpoint keeps its secret, its events and its waiting deliveries with it.
 *  * Checks of a creation, in this order: events, target, limit. The name is resolved before any of them.
 *  * An empty PATCH changes nothing, and is no audit entry. No audit entry tells more of a URL than its host: path and query may hold a receiver's secret.
 *  * A deleted endpoint takes its deliveries with it, those that wait and those that are history.
 */
import { ENCRYPTED_COLUMNS } from '../../core/encrypted-columns.ts';
import { SUBSCRIBABLE_EVENTS, type EventType } from '../../core/events.ts';
import { invalidField } from '../../core/problem.ts';

export const ENDPOINTS_MAX = 50;

/** What the stored secret is bound to (`core/encryption.ts`): table, column, team and row. Whoever encrypts or decrypts one says this. */
export function webhookSecretContext(teamId: string, endpointId: string): string {
  return ENCRYPTED_COLUMNS.webhookSecret.context(teamId, endpointId);
}

/** The types once each. Throws `validation_error` (field `events`) for none, an unknown one, or `ping`. */
export function requireSubscribable(events: readonly string[]): EventType[] {
  if (events.length === 0) throw invalidField('events', 'At least one event type.');
  const unknown = events.find((type) => !isSubscribable(type));
  if (unknown !== undefined) throw invalidField('events', `Not a subscribable event type: ${unknown.slice(0, 100)}`);
  return [...new Set(events.filter(isSubscribable))];
}

/** Throws `validation_error` (field `status`) for anything but `active` and `disabled`. */
export function requireSettableStatus(status: string): 'active' | 'disabled' {
  if (status === 'active' || status === 'disabled') return status;
  throw invalidField('status', 'An endpoint can be set to active or disabled.');
}

/** Throws `validation_error` (field `url`) when the team has all the endpoints it may have. Counted under the team's lock. */
export function requireRoom(endpoints: number): void {
  if (endpoints >= ENDPOINTS_MAX) throw invalidField('url', `A team may have ${ENDPOINTS_MAX} endpoints.`);
}

function isSubscribable(type: string): type is EventType {
  return SUBSCRIBABLE_EVENTS.some((known) => known === type);
}
