/**
 * Decisions about members that the specification leaves open. Its own rules are in service.ts.
 *  * A request may name the roles `admin` and `member`. Any other role is a validation error of the
 *    field `role`.
 *  * Active and invited members take a seat, the owner included.
 *  * An email that is taken is a `conflict`, which names the field and has a code in `errors`, as a
 *    `validation_error` does, so that a form can say it where it was entered.
 *  * The limit of invitations is a sliding window. An invitation counts for exactly one hour, even
 *    if its membership has ended meanwhile.
 *  * An invitation is checked in this order: role, right to make admins, email taken, seats, hourly
 *    limit. So a client that repeats an invitation learns that it exists, and not that the team is
 *    full. While `member_detail_enabled` is off, the email comes last: neither a full team nor one
 *    that has used up its hour tells whose address it is, which `?email=` refuses. What is refused
 *    because of the email counts toward the limit then, so that nobody guesses faster than that.
 *    Rejected: to count it always. A client that invites everybody again meets its members.
 *  * The admin page finds members by a part of their address or of an id. While
 *    `member_detail_enabled` is off, an address cannot be found, for that would tell whose it is.
 *    A whole address finds only whoever has it, by its index: they may stand behind 10,000 others,
 *    or behind many whose address holds theirs (`ann@…` and `joann@…`). Rejected: them first and
 *    the others below, who would come twice or not at all where the page ends. While addresses are
 *    withheld, members are called by their ids, so a whole id finds only whoever has it (`17` and
 *    `170`).
 *  * The admin page can read them in four other orders than that of their creation, each from an
 *    index, so the first page of ten million costs what that of ten does. By address: the unique
 *    index of live addresses has it. By when they joined, from either end: an index of its own,
 *    one entry more for an invitation and for its acceptance, about 80 bytes for a member. By role:
 *    an index of the owner and the admins only, which a plain member costs nothing; members follow
 *    in the order of the list. A filter reads 10,000 rows for a page in these orders, too; by role,
 *    10,000 of each of the two. Of 1,000,000 members, any page read 51 to 105 rows, 57 blocks at
 *    most, and one with a filter 10,138 blocks at most.
 *  * Whoever is invited joins after everybody else: first among the latest, last among the
 *    earliest.
 *  * While `member_detail_enabled` is off, the order by address is refused with
 *    `privacy_restricted`, for it would tell whose address comes before whose.
 *  * A cursor of the order by address holds no address, since it stands in the URL of the page. It
 *    names the last member, whose address is read again: an ended member keeps it. Once that is
 *    erased, the cursor is refused, and the reader begins anew.
 *  * There is no order by state: the filter is enough for two states. Nor from Z to A, or members
 *    before admins: nobody looks for somebody there.
 *  * `GET /users?email=` compares like an invitation: trimmed and in any case. While
 *    `member_detail_enabled` is off it is refused with `privacy_restricted`, whether or not there
 *    is such a member. An empty page would be wrong: a client would invite somebody again.
 *  * `status` and `role` are open sets, so as filters they take any text. Few teams have more than
 *    10,000 members, so a filter reads that many for a page, by the list's own index. An index for
 *    each filter would be paid for by every change of a member.
 *  * An invitation that is mailed again counts toward the limit like a new one.
 *  * An invitation of a team that has ended is not mailed. If the team is opened again, an admin
 *    can have it mailed again. That of a suspended team is mailed: it was requested before, and the
 *    host application can record its acceptance. Rejected: to let the mail wait, because a
 *    suspension may last for months.
 *  * The mail leads to the page of the host application that the setting INVITATION_URL names, for
 *    people sign in and accept there and at no address of this service. Without it the mail has no
 *    link. Rejected: to require it, because a deployment must start after an upgrade; and to derive
 *    it from ADMIN_REFRESH_URL, which is for admins and may name several host applications.
 *  * An invitation that nobody accepts within 180 days after it was last mailed ends, as if it had
 *    been withdrawn. One that this service did not mail, from a seed file, does not end by itself.
 *  * An invitation that ends without being accepted loses its address. The membership stays with
 *    its id, for the audit log and for assignments.
 *  * Making an invited member an admin, or taking that role away, needs the same right as for an
 *    active member.
 *  * What the actor may do is read again under the team's lock, with the privacy switches. Calls of
 *    an admin that wait behind the admin's own demotion are refused, and cannot undo it: with
 *    `insufficient_scope` those of a key, with `forbidden` those in the app. A key that has ended
 *    meanwhile, or a member who has left, is `unauthorized`; a team that was suspended is
 *    `api_disabled`. The response shows what the switches allowed both times. Rejected: to decide
 *    by what authentication found, which costs one statement less.
 */
import type { CurrentActor, MemberStatus, Role } from '../../core/actor.ts';
import { mayChangeAdmins } from '../../core/actor.ts';
import { requireBelowHourlyLimit } from '../../core/hourly-limit.ts';
import type { PagePosition } from '../../core/page.ts';
import { showsMemberDetail, type Privacy } from '../../core/privacy.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';

export const INVITATIONS_PER_HOUR = 60;

/** How long an invitation can be accepted after it was last mailed. */
export const INVITATION_DAYS = 180;
const DAY_MS = 86_400_000;

/** Open invitations that were last mailed before this time end. */
export function endsInvitationsSentBefore(now: Date): Date {
  return new Date(now.getTime() - INVITATION_DAYS * DAY_MS);
}

/**
 * The orders in which the admin page reads members. `newest`: by their creation. `joined`: whoever
 * joined last comes first; `joined_first`: the other way round.
 */
export const SORTS = ['newest', 'address', 'role', 'joined', 'joined_first'] as const;
export type Sort = (typeof SORTS)[number];

/** When somebody joins who is only invited. `member_joined_idx` has the same time. */
export const NOT_JOINED = '9999-12-31T00:00:00.000Z';

/** A member's place in an order. */
interface Placed {
  readonly id: string;
  readonly role: string;
  readonly created_at: string;
  readonly joined_at: string | null;
}

/** The position of a member in that order, as cursors hold it. */
export function positionIn(sort: Sort): (member: Placed) => PagePosition {
  return ({ id, role, created_at, joined_at }) => {
    if (sort === 'joined' || sort === 'joined_first') return { at: joined_at ?? NOT_JOINED, id };
    return { at: created_at, id: sort === 'role' ? `${role}|${id}` : id };
  };
}

/** The parts of a position in the order by role. */
export function readRolePosition({ at, id }: PagePosition): PagePosition & { role: string } {
  const end = id.indexOf('|');
  return { at, id: id.slice(end + 1), role: id.slice(0, Math.max(end, 0)) };
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

/**
 * Throws `insufficient_scope` unless the actor may give or take the role `admin`, which the removal
 * of an admin does, too.
 */
export function requireMayChangeAdmins(actor: CurrentActor): void {
  if (mayChangeAdmins(actor)) return;
  throw new ProblemError('insufficient_scope', {
    required_scope: 'users:write',
    detail:
      'To grant or revoke the role admin, or to remove an admin, use a key created by the owner ' +
      'or by an active admin.',
  });
}

/** Throws `owner`, because the owner cannot be changed or removed through the API. */
export function requireNotOwner(target: MemberFacts): void {
  if (target.role === 'owner') throw new ProblemError('owner');
}

/**
 * Throws `last_admin` if the target is the only active admin. Read `hasAnotherAdmin` under the
 * team's lock.
 */
export function requireAnotherAdmin(target: MemberFacts, hasAnotherAdmin: boolean): void {
  if (target.role === 'admin' && target.status === 'active' && !hasAnotherAdmin)
    throw new ProblemError('last_admin');
}

/**
 * Throws `validation_error` (field `member_id`) unless the member is invited. Only an open
 * invitation can be mailed again or withdrawn.
 */
export function requireInvited(target: MemberFacts): void {
  if (target.status !== 'invited')
    throw invalidField('member_id', 'The member has accepted the invitation.', 'not_invited');
}

/** What decides whether a team may invite someone. */
export interface InvitationFacts {
  readonly seats: number;
  readonly seatsUsed: number;
  /** The id of the member who has the email. */
  readonly takenBy: string | null;
  /**
   * ISO time of the oldest of the last `INVITATIONS_PER_HOUR` invitations; null if there were fewer
   * in the window.
   */
  readonly limitingInvitedAt: string | null;
}

/**
 * Throws `conflict`, `seat_limit_reached` or `rate_limited`. While details are withheld, the email
 * may be taken nevertheless. Read the facts under the team's lock.
 */
export function requireInvitable(facts: InvitationFacts, privacy: Privacy, now: Date): void {
  if (facts.takenBy !== null && showsMemberDetail(privacy)) throw alreadyMember();
  if (facts.seatsUsed >= facts.seats) throw new ProblemError('seat_limit_reached');
  requireBelowInvitationLimit(facts.limitingInvitedAt, now);
}

/** The refusal of an email that is taken. */
export function alreadyMember(): ProblemError {
  return new ProblemError('conflict', {
    field: 'email',
    detail: 'The email already belongs to a member of this team.',
    reason: 'already_member',
  });
}

/**
 * Throws `rate_limited`. Read `limitingInvitedAt` (see {@link InvitationFacts}) under the team's
 * lock.
 */
export function requireBelowInvitationLimit(limitingInvitedAt: string | null, now: Date): void {
  const detail = `A team may send ${INVITATIONS_PER_HOUR} invitations per hour.`;
  requireBelowHourlyLimit(limitingInvitedAt, now, detail);
}
