/**
 * Decisions about webhook endpoints that the specification leaves open:
 *  * All faults of a target are errors of the field `url`: its form, its scheme, what its name
 *    resolves to, and that no name server answers (delivery/target.ts). So is the limit of 50
 *    endpoints. Each has a code of its own in `errors`, so that the page can say which one it is.
 *    That list of codes is open (`core/problem-shapes.ts`). They were all `refused` before.
 *  * No events at all, `ping` and unknown types are errors of the field `events`. The request's
 *    schema does not list the types, because v1 may add types. Repeated types collapse and keep the
 *    order in which they were first named.
 *  * A request can set the status to `active` or `disabled`; anything else is an error of the field
 *    `status`. `active` clears the time since which deliveries fail, whatever the status was. The
 *    client vouches for the receiver, so the three days begin again.
 *  * An endpoint gets what happened while it was active, also if a pause comes before the fan-out:
 *    it waits like other deliveries. So the endpoint keeps when it was paused last. What happened
 *    in the last moments of a pause may be sent, too: the fan-out then finds the endpoint active.
 *  * The three days of a pause begin at the first failed attempt after the last success, by the
 *    times of the attempts and not of their writing. Nothing is paused without a failure in the
 *    second half of them, because nothing was attempted, for want of events or of workers.
 *  * No mail tells of a pause while the team is not active: nobody could reactivate the endpoint.
 *    Who resumes the team sees it in the overview.
 *  * A new `url` is checked like that of a creation. The endpoint keeps its secret, its events and
 *    its waiting deliveries.
 *  * A creation checks events, then the target, then the limit. The name is resolved before that.
 *  * A description is stored without spaces around it, and as null if nothing of it can be seen: it
 *    is the name of the endpoint in lists and mails. Its host is the name then.
 *  * An empty PATCH changes nothing and writes no audit entry. Audit entries show only the host of
 *    a URL, because path and query may hold a receiver's secret.
 *  * A rotation gives the endpoint a new secret at once. Deliveries are also signed with the old
 *    one for `grace_s`, and with those of earlier rotations until their ends, so that a rotation
 *    whose response was lost can be repeated. At most three earlier secrets stay: the oldest goes.
 *    With `grace_s` 0, for a secret that has leaked, all earlier ones end at once. Deliveries that
 *    a worker has in hand then are still signed with the old one, for seconds at most.
 *  * What no key opens cannot sign on: a rotation with a `grace_s` is a `conflict` with
 *    `Retry-After`, and so is a confirmation, which compares. While APP_SECRET is
 *    changed, another process may open it. A rotation with `grace_s` 0 opens nothing and replaces
 *    it: that is the repair after a secret is damaged or its key is lost.
 *  * A secret that a person in the app has got by a creation or a rotation can be lost before
 *    anybody has stored it. So the endpoint keeps since when, until somebody confirms it; the page
 *    names such endpoints and replaces the secret at once. What a program has got by its key needs
 *    no confirmation. Only the first one is a change.
 *  * A confirmation names the secret itself: between what a page has shown and the confirmation,
 *    another admin may have replaced it, and the time or the id of a rotation is no part of the
 *    API's response. Any secret but the present one is an error of the field `secret`, also one
 *    that still signs: the present one may be lost nevertheless.
 *  * A test can be sent as any type, to endpoints that do not subscribe to it, too. The receiver
 *    gets the documented example with `test: true`, whose ids belong to nothing, under the team's
 *    privacy switches. A receiver that does not look at `test` acts on it as it would on a real
 *    event, which is what is tested. For everybody else it is a `ping`.
 *  * A deleted endpoint is gone at once, with its deliveries and with its secret in the response
 *    that is kept for the `Idempotency-Key` of its creation. A job removes the rows of the
 *    deliveries later.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Actor } from '../../core/actor.ts';
import { ENCRYPTED_COLUMNS } from '../../core/encrypted-columns.ts';
import { SUBSCRIBABLE_EVENTS, type EventType } from '../../core/events.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';
import { stillValid, type EarlierSecret } from '../../core/signing-secrets.ts';
import { limitOf } from '../../core/team-limits.ts';

/** The statuses of an endpoint that a request can set. */
export const SETTABLE = ['active', 'disabled'] as const;
/** All statuses of an endpoint. */
export const STATUSES = [...SETTABLE, 'disabled_failures'] as const;

/** How many earlier secrets sign a delivery besides the current one. */
const EARLIER_SECRETS_MAX = 3;

/** The secrets of an endpoint before a rotation. */
export interface Secrets {
  readonly current: string;
  readonly earlier: readonly EarlierSecret[];
}

/**
 * Returns the secrets that stay valid after a rotation, the newest first. `graceS` 0: none does.
 */
export function earlierAfterRotation(
  { current, earlier }: Secrets,
  { at, graceS }: { readonly at: Date; readonly graceS: number },
): readonly EarlierSecret[] {
  if (graceS === 0) return [];
  const until = new Date(at.getTime() + graceS * 1000).toISOString();
  return [{ secret: current, until }, ...stillValid(earlier, at)].slice(0, EARLIER_SECRETS_MAX);
}

/** Returns the end of the secret that stays valid for longest; null without secrets. */
export function lastEnd(secrets: readonly EarlierSecret[]): string | null {
  return (
    secrets
      .map(({ until }) => until)
      .toSorted()
      .at(-1) ?? null
  );
}

/** Since when a new secret waits for the confirmation that it is stored; null if it does not. */
export function unconfirmedSince({
  actor,
  at,
}: {
  readonly actor: Actor;
  readonly at: Date;
}): string | null {
  return actor.kind === 'user' ? at.toISOString() : null;
}

/** Throws `validation_error` (field `secret`) if `shown` is not the present secret. */
export function requirePresentSecret(shown: string, present: string): void {
  const [a, b] = [Buffer.from(shown), Buffer.from(present)];
  if (a.length !== b.length || !timingSafeEqual(a, b))
    throw invalidField('secret', 'Another secret has replaced it meanwhile.', 'secret_replaced');
}

/** A process with a newer APP_SECRET may answer the next call. */
const UNREADABLE_RETRY_AFTER_S = 1;

/** The problem of a call that needs a stored secret, which no key opens. It says when to come. */
export function secretUnreadable(): ProblemError {
  return new ProblemError('conflict', {
    retry_after: UNREADABLE_RETRY_AFTER_S,
    detail:
      'The present secret of the webhook endpoint cannot be read. Try again. If that does not ' +
      'help, replace it at once: rotate it with grace_s 0.',
  });
}

/** What the encryption binds an endpoint's secret to: table, column, team and row. */
export function webhookSecretContext(teamId: string, endpointId: string): string {
  return ENCRYPTED_COLUMNS.webhookSecret.context(teamId, endpointId);
}

/**
 * Returns each type once. Throws `validation_error` (field `events`) for no types, an unknown type
 * or `ping`.
 */
export function requireSubscribable(events: readonly string[]): EventType[] {
  if (events.length === 0)
    throw invalidField(
      'events',
      `At least one event type is needed. There are: ${SUBSCRIBABLE_EVENTS.join(', ')}.`,
    );
  const unknown = events.find((type) => !isSubscribable(type));
  if (unknown !== undefined)
    throw invalidField(
      'events',
      `Not a subscribable event type: ${unknown.slice(0, 100)}. ` +
        `There are: ${SUBSCRIBABLE_EVENTS.join(', ')}.`,
    );
  return [...new Set(events.filter(isSubscribable))];
}

/** Throws `validation_error` (field `status`) for anything but `active` and `disabled`. */
export function requireSettableStatus(status: string): (typeof SETTABLE)[number] {
  const settable = SETTABLE.find((one) => one === status);
  if (settable) return settable;
  throw invalidField('status', 'An endpoint can be set to active or disabled.');
}

/**
 * Throws `validation_error` (field `url`) if the team has as many endpoints as it may have. Count
 * them under the team's lock.
 */
export function requireRoom(teamId: string, endpoints: number): void {
  const max = limitOf(teamId, 'webhookEndpoints');
  if (endpoints >= max)
    throw invalidField('url', `A team may have ${max} endpoints.`, 'too_many_endpoints');
}

function isSubscribable(type: string): type is EventType {
  return SUBSCRIBABLE_EVENTS.some((known) => known === type);
}
