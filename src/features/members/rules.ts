/**
 * Decisions about members that the specification leaves open. Its own rules are in service.ts.
 *  * A request may name the roles `admin` and `member`. Any other role is a validation error of the
 *    field `role`.
 *  * Active and invited members take a seat, the owner included.
 *  * The limit of invitations is a sliding window. An invitation counts for exactly one hour, even
 *    if its membership has ended meanwhile.
 *  * An invitation is checked in this order: role, right to make admins, email taken, seats, hourly
 *    limit. So a client that repeats an invitation learns that it exists, and not that the team is
 *    full.
 *  * The admin page finds members by a part of their address or of an id. While
 *    `member_detail_enabled` is off, an address cannot be found, for that would tell whose it is.
 *  * `GET /users?email=` compares like an invitation: trimmed and in any case. While
 *    `member_detail_enabled` is off it is refused with `privacy_restricted`, whether or not there
 *    is such a member. An empty page would be wrong: a client would invite somebody again.
 *  * `status` and `role` are open sets, so as filters they take any text. Few teams have more than
 *    10,000 members, so a filter reads that many for a page, by the list's own index. An index for
 *    each filter would be paid for by every change of a member.
 *  * An invitation that is mailed again counts toward the limit like a new one.
 *  * An invitation that nobody accepts within 180 days after it was last mailed ends, as if it had
 *    been withdrawn. One that this service did not mail, from a seed file, does not end by itself.
 *  * An invitation that ends without being accepted loses its address. The membership stays with
 *    its id, for the audit log and for assignments.
 *  * Making an invited member an admin, or taking that role away, needs the same right as for an
 *    active member.
 */
import type { Actor, MemberStatus, Role } from '../../core/actor.ts';
import { mayChangeAdmins } from '../../core/actor.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';

/** How many invitations a team may send within INVITATION_WINDOW_MS. */
export const INVITATIONS_PER_HOUR = 60;
export const INVITATION_WINDOW_MS = 60 * 60 * 1000;

/** How long an invitation can be accepted after it was last mailed. */
export const INVITATION_DAYS = 180;
const DAY_MS = 86_400_000;

/** Open invitations that were last mailed before this time end. */
export function endsInvitationsSentBefore(now: Date): Date {
  return new Date(now.getTime() - INVITATION_DAYS * DAY_MS);
}

/** A role that the API can give. */
export const ASSIGNABLE_ROLES = ['admin', 'member'] as const satisfies readonly Role[];
export type AssignableRole = (typeof ASSIGNABLE_ROLES)[number];

/** What the rules need to know of a member. */
export interface MemberFacts {
  readonly role: Role;
  readonly status: MemberStatus;
}

/** Whether a member has the role and the status, as far as they are given. */
export function isAskedFor(
  member: MemberFacts,
  { role, status }: { readonly role?: string | undefined; readonly status?: string | undefined },
): boolean {
  return (
    (role === undefined || role === member.role) &&
    (status === undefined || status === member.status)
  );
}

/** Throws `validation_error` (field `role`) for anything but `admin` and `member`. */
export function requireAssignableRole(role: string): AssignableRole {
  const assignable = ASSIGNABLE_ROLES.find((one) => one === role);
  if (assignable) return assignable;
  throw invalidField('role', 'A role is admin or member.');
}

/** Throws `insufficient_scope` unless the actor may give or take the role `admin`. */
export function requireMayChangeAdmins(actor: Actor): void {
  if (mayChangeAdmins(actor)) return;
  throw new ProblemError('insufficient_scope', {
    required_scope: 'users:write',
    detail:
      'Granting or revoking the role admin needs a key created by the owner or by an active admin.',
  });
}

/** Throws `owner`, because the owner cannot be changed or removed through the API. */
export function requireNotOwner(target: MemberFacts): void {
  if (target.role === 'owner') throw new ProblemError('owner');
}

/**
 * Throws `last_admin` if the target is the only active admin. Count `otherActiveAdmins` under the
 * team's lock.
 */
export function requireAnotherAdmin(target: MemberFacts, otherActiveAdmins: number): void {
  if (target.role === 'admin' && target.status === 'active' && otherActiveAdmins === 0)
    throw new ProblemError('last_admin');
}

/**
 * Throws `validation_error` (field `member_id`) unless the member is invited. Only an open
 * invitation can be mailed again or withdrawn.
 */
export function requireInvited(target: MemberFacts): void {
  if (target.status !== 'invited')
    throw invalidField('member_id', 'The member has accepted the invitation.');
}

/** What decides whether a team may invite someone. */
export interface InvitationFacts {
  readonly seats: number;
  readonly seatsUsed: number;
  readonly emailTaken: boolean;
  /**
   * ISO time of the oldest of the last `INVITATIONS_PER_HOUR` invitations; null if there were fewer
   * in the window.
   */
  readonly limitingInvitedAt: string | null;
}

/**
 * Throws `conflict`, `seat_limit_reached` or `rate_limited`. Read the facts under the team's lock.
 */
export function requireInvitable(facts: InvitationFacts, now: Date): void {
  if (facts.emailTaken)
    throw new ProblemError('conflict', {
      detail: 'The email already belongs to a member of this team.',
    });
  if (facts.seatsUsed >= facts.seats) throw new ProblemError('seat_limit_reached');
  requireBelowInvitationLimit(facts.limitingInvitedAt, now);
}

/**
 * Throws `rate_limited`. Read `limitingInvitedAt` (see {@link InvitationFacts}) under the team's
 * lock.
 */
export function requireBelowInvitationLimit(limitingInvitedAt: string | null, now: Date): void {
  if (limitingInvitedAt === null) return;
  const freeAt = Date.parse(limitingInvitedAt) + INVITATION_WINDOW_MS;
  throw new ProblemError('rate_limited', {
    retry_after: Math.max(1, Math.ceil((freeAt - now.getTime()) / 1000)),
    detail: `A team may send ${INVITATIONS_PER_HOUR} invitations per hour.`,
  });
}
