import { JOB_ACTORS } from '../../core/actor.ts';
import type { Language } from '../../core/language.ts';
import type { Clock } from '../../core/clock.ts';
import { HOUR_MS } from '../../core/hourly-limit.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import { readPage, readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { requireMemberDetail, showsMemberDetail, type Privacy } from '../../core/privacy.ts';
import {
  invalidField,
  leaving,
  notFound,
  unknownId,
  type ProblemError,
} from '../../core/problem.ts';
import { isSandbox } from '../../core/sandbox.ts';
import { lockTeamFor, readChangeContext, type CurrentContext } from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { workOnDue } from '../../db/due-rows.ts';
import { forgetKeptDetails } from '../../db/kept-responses.ts';
import { lockFreeTeam, lockTeam } from '../../db/team-lock.ts';
import { record, type ChangeContext, type RecordContext } from '../../db/outbox.ts';
import { removalTime } from '../../db/database-clock.ts';
import { lockRow } from '../../db/row-lock.ts';
import { revokeOpenAssignments, touchAssignments } from '../assignments/service.ts';
import * as invitations from './invitation-store.ts';
import type { ExpiredRow } from './invitation-store.ts';
import * as rules from './rules.ts';
import * as searches from './search-store.ts';
import type { FoundMember, MemberFilters } from './search-store.ts';
import * as store from './store.ts';
import type { MemberRow } from './store.ts';

/** The job that mails an invitation. Its payload holds `teamId` and `memberId`. */
export const SEND_INVITATION = 'send_invitation_mail';

const LIST = 'users';

/** What a list is asked for. All given filters must match. */
export interface MemberQuery extends PageQuery {
  readonly status?: string | undefined;
  readonly role?: string | undefined;
  readonly email?: string | undefined;
}

/**
 * Lists active and invited members, newest first. With a filter, a page can hold fewer than its
 * limit, or none, although `nextCursor` leads to others. Throws `validation_error` for a foreign
 * cursor, `privacy_restricted` for an address that may not be shown.
 */
export async function listMembers(
  db: Db,
  teamId: string,
  privacy: Privacy,
  { cursor, limit, email, ...filters }: MemberQuery,
): Promise<Page<MemberRow>> {
  const { role, status } = filters;
  if (email !== undefined) requireMemberDetail(privacy);
  return readPage<MemberRow>(LIST, { cursor, limit }, async (slice) => {
    if (email !== undefined) {
      const found = await searches.findByAddress(db, teamId, slice, email);
      return found.filter((row) => rules.isAskedFor(row, filters));
    }
    if (role === undefined && status === undefined) return store.listMembers(db, teamId, slice);
    const wanted = { role, status, sort: 'newest', byAddress: false } as const;
    return searches.searchMembers(db, teamId, slice, wanted);
  });
}

/** What cursors call each order. */
const FOUND: Readonly<Record<rules.Sort, string>> = {
  newest: 'members_found',
  address: 'members_by_address',
  role: 'members_by_role',
  joined: 'members_by_joining',
  joined_first: 'members_by_joining_first',
};

/**
 * Finds live members, in the order `sort`; by a whole address, or a whole id while addresses are
 * withheld, only whoever has it. A page can hold fewer than its limit, or none, although
 * `nextCursor` leads to others. Throws `validation_error` for a foreign cursor, and
 * `privacy_restricted` for an order that may not be shown.
 */
export async function searchMembers(
  db: Db,
  teamId: string,
  privacy: Privacy,
  { cursor, limit, sort, ...filters }: MemberFilters & PageQuery & { readonly sort: rules.Sort },
): Promise<Page<FoundMember>> {
  if (sort === 'address') requireMemberDetail(privacy);
  const wanted = { ...filters, sort, byAddress: showsMemberDetail(privacy) };
  const query = { cursor, limit };
  const { text } = filters;
  if (cursor === undefined && text !== undefined && (!wanted.byAddress || text.includes('@'))) {
    const slice = { limit, after: null };
    const find = wanted.byAddress ? searches.findByAddress : searches.findById;
    const found = await find(db, teamId, slice, text);
    const rows = found.filter((row) => rules.isAskedFor(row, filters));
    if (rows.length > 0) return { rows, nextCursor: null };
  }
  return readPageBy(rules.positionIn(sort), FOUND[sort], query, async (slice) => {
    const { after } = slice;
    if (sort !== 'address' || !after) return searches.searchMembers(db, teamId, slice, wanted);
    const address = await searches.findAddress(db, teamId, after.id);
    if (address === null) throw lostCursor();
    const place = { ...slice, after: { ...after, id: address } };
    return searches.searchMembers(db, teamId, place, wanted);
  });
}

function lostCursor(): ProblemError {
  const detail = 'The place of the cursor is gone. Begin at the first page.';
  return invalidField('cursor', detail, 'invalid_cursor');
}

export { findNames, readSeats } from './search-store.ts';

/** What a removal takes from a member. Throws `not_found`. */
export async function readLeaver(
  db: Db,
  teamId: string,
  memberId: string,
): Promise<{ readonly openAssignments: number; readonly hasMore: boolean }> {
  await getMember(db, teamId, memberId);
  const counted = await searches.countOpenAssignments(db, teamId, memberId);
  return {
    openAssignments: Math.min(counted, searches.OPEN_COUNTED_MAX),
    hasMore: counted > searches.OPEN_COUNTED_MAX,
  };
}

/** Throws `not_found`. */
export async function getMember(db: Db, teamId: string, memberId: string): Promise<MemberRow> {
  const row = await store.findMember(db, teamId, memberId);
  if (!row) throw notFound();
  return row;
}

/**
 * Reads the member and locks it until the transaction ends, the team first. Throws `not_found`.
 */
export async function lockMember(tx: Tx, teamId: string, memberId: string): Promise<MemberRow> {
  lockTeam(tx, teamId);
  // The end of a membership keeps its row.
  lockRow(tx, 'member', { teamId, id: memberId, to: 'change' });
  return getMember(tx, teamId, memberId);
}

/**
 * Invites by email. Opens a transaction, emits `member.joined` and enqueues the mail. Throws
 * `validation_error` (field `role`), `insufficient_scope`, `conflict`, `seat_limit_reached`,
 * `rate_limited`.
 */
export async function inviteMember(
  db: Db,
  context: ChangeContext,
  invitation: { email: string; role: string; language: Language | null },
): Promise<MemberRow> {
  const { teamId, at } = context;
  const { email, language } = invitation;
  const role = rules.requireAssignableRole(invitation.role);
  return db.transaction(async (tx) => {
    const windowStart = new Date(at.getTime() - HOUR_MS);
    const [current, facts] = await Promise.all([
      lockTeamFor(tx, context),
      invitations.readInvitationFacts(tx, teamId, email, windowStart),
    ]);
    if (role === 'admin') rules.requireMayChangeAdmins(current.actor);
    rules.requireInvitable(facts, current.privacy, at);
    if (facts.takenBy !== null) {
      const counted = { id: newId('invitationResend'), memberId: facts.takenBy, at };
      await invitations.insertCounted(tx, teamId, counted);
      throw leaving(rules.alreadyMember());
    }
    const id = newId('member');
    invitations.insertInvited(tx, teamId, { id, email, role, language, at });
    record(tx, current, {
      audit: { action: 'member.invited', targetId: id, details: { role } },
      events: [{ type: 'member.joined', data: { member_id: id, role, user_id: null } }],
      jobs: [invitationJob(teamId, id)],
    });
    return {
      id,
      user_id: null,
      email,
      role,
      status: 'invited',
      joined_at: null,
      created_at: at.toISOString(),
    };
  });
}

/**
 * Changes a member's role. Setting the current role changes nothing. Opens a transaction. Throws
 * `validation_error` (field `role`), `not_found`, `owner`, `insufficient_scope`, `last_admin`.
 */
export async function changeRole(
  db: Db,
  context: ChangeContext,
  memberId: string,
  wantedRole: string,
): Promise<MemberRow> {
  const { teamId } = context;
  const role = rules.requireAssignableRole(wantedRole);
  return db.transaction(async (tx) => {
    const { current, target } = await lockTarget(tx, context, memberId);
    rules.requireNotOwner(target);
    if (target.role === role) return target;
    rules.requireMayChangeAdmins(current.actor);
    rules.requireAnotherAdmin(target, target.has_another_admin);
    store.updateRole(tx, teamId, memberId, role);
    record(tx, current, {
      audit: {
        action: 'member.role_changed',
        targetId: memberId,
        details: { from: target.role, to: role },
      },
    });
    return { ...target, role };
  });
}

/**
 * Ends a membership and revokes its open assignments. Opens a transaction. Emits `member.removed`.
 * Throws `not_found`, `owner`, `insufficient_scope`, `last_admin`.
 */
export async function removeMember(
  db: Db,
  context: ChangeContext,
  memberId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const { current, target } = await lockTarget(tx, context, memberId);
    rules.requireNotOwner(target);
    if (target.role === 'admin') rules.requireMayChangeAdmins(current.actor);
    rules.requireAnotherAdmin(target, target.has_another_admin);
    await endMembership(tx, current, target, 'member.removed');
  });
}

/**
 * Mails an invitation again. It counts toward the hourly limit. If a mail is still waiting to be
 * sent, no second one is enqueued. Opens a transaction. Throws `not_found`, `rate_limited`,
 * `conflict` (the sandbox is full), and `validation_error` (field `member_id`) unless the member is
 * invited.
 */
export async function resendInvitation(
  db: Db,
  context: ChangeContext,
  memberId: string,
): Promise<MemberRow> {
  const { teamId, at } = context;
  return db.transaction(async (tx) => {
    const windowStart = new Date(at.getTime() - HOUR_MS);
    const [current, found] = await Promise.all([
      lockTeamFor(tx, context),
      invitations.findForResend(tx, teamId, memberId, windowStart),
    ]);
    if (!found) throw unknownId('member_id');
    const { member, limitingInvitedAt } = found;
    rules.requireInvited(member);
    rules.requireBelowInvitationLimit(limitingInvitedAt, at);
    await invitations.insertResend(tx, teamId, { id: newId('invitationResend'), memberId, at });
    record(tx, current, {
      audit: { action: 'member.invitation_resent', targetId: memberId },
      jobs: [invitationJob(teamId, memberId)],
    });
    return member;
  });
}

/**
 * Ends an invited membership and revokes its open assignments, for an admin. Opens a transaction.
 * Emits `member.removed`. Throws `not_found`, and `validation_error` (field `member_id`) unless the
 * member is invited.
 */
export async function withdrawInvitation(
  db: Db,
  context: ChangeContext,
  memberId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [current, target] = await Promise.all([
      lockTeamFor(tx, context),
      store.findTarget(tx, context.teamId, memberId),
    ]);
    if (!target) throw unknownId('member_id');
    rules.requireInvited(target);
    await endMembership(tx, current, target, 'member.invitation_withdrawn');
  });
}

/**
 * Ends the invitations that nobody has accepted in time, each in a transaction of its own, and
 * returns how many. Emits `member.removed`. Those of a team that somebody has locked end in the
 * next run. If one cannot be ended, the others are, and then an error is thrown.
 */
export async function endExpiredInvitations(
  db: Db,
  clock: Clock,
  signal?: AbortSignal,
): Promise<number> {
  const at = await removalTime(db, clock);
  const sentBefore = rules.endsInvitationsSentBefore(at);
  let ended = 0;
  await workOnDue<ExpiredRow>({
    list: (slice) => invitations.listExpired(db, sentBefore, slice),
    work: async ({ team_id: teamId, id: memberId }) => {
      if (await endExpired(db, { teamId, memberId, sentBefore, at })) ended += 1;
    },
    isOver: () => signal?.aborted === true,
    failure: 'Some invitations were not ended.',
  });
  return ended;
}

function endExpired(
  db: Db,
  invitation: { teamId: string; memberId: string; sentBefore: Date; at: Date },
): Promise<boolean> {
  const { teamId, memberId, sentBefore, at } = invitation;
  const actor = JOB_ACTORS.invitationExpiry;
  return db.transaction(async (tx) => {
    if (!(await lockFreeTeam(tx, teamId))) return false;
    const [context, target] = await Promise.all([
      readChangeContext(tx, { teamId, actor, requestId: newRequestId(), at }),
      invitations.findExpired(tx, teamId, memberId, sentBefore),
    ]);
    if (target) await endMembership(tx, context, target, 'member.invitation_expired');
    return target !== null;
  });
}

/**
 * Ends the membership with what belongs to it. Its details go from the kept responses. Its address
 * is still shown as `member_email` of its assignments (`assignments/rules.ts`). But an invitation
 * ends without its address, because nobody has accepted it. `action` is what the audit log says.
 * The caller has locked the team and checked that the membership may end.
 */
export async function endMembership(
  tx: Tx,
  context: RecordContext,
  target: Pick<MemberRow, 'id' | 'role' | 'user_id' | 'status'> & Addressed,
  action: 'member.removed' | 'member.invitation_withdrawn' | 'member.invitation_expired',
): Promise<void> {
  const { teamId, at } = context;
  const { id, role, user_id, status } = target;
  store.endMembership(tx, teamId, id, at);
  await revokeOpenAssignments(tx, teamId, id);
  if (status === 'invited') await forgetEmails(tx, teamId, [target]);
  else forgetKeptDetails(tx, teamId, [id]);
  record(tx, context, {
    audit: { action, targetId: id, details: { role } },
    events: [{ type: 'member.removed', data: { member_id: id, role, user_id } }],
  });
}

/** A membership, with its address as long as it has one. */
interface Addressed {
  readonly id: string;
  readonly email: string | null;
}

/** Removes the addresses of memberships that have ended. What showed one counts as changed. */
export async function forgetEmails(
  tx: Tx,
  teamId: string,
  memberships: readonly Addressed[],
): Promise<void> {
  removeEmails(tx, teamId, memberships);
  for (const { id } of memberships) await touchAssignments(tx, teamId, id);
}

/**
 * Removes the addresses wherever the team keeps them: also from the responses that are kept for an
 * `Idempotency-Key`, and the mails of a sandbox. For a person, whose assignments can be too many to
 * be touched in one transaction.
 */
export function removeEmails(tx: Tx, teamId: string, memberships: readonly Addressed[]): void {
  store.forgetEmails(
    tx,
    teamId,
    memberships.map(({ id }) => id),
  );
  forgetMails(tx, teamId, addressesOf(memberships));
}

/** Removes the mails to these addresses from a sandbox. Those of a live team are kept nowhere. */
export function forgetMails(tx: Tx, teamId: string, addresses: readonly string[]): void {
  if (isSandbox(teamId) && addresses.length > 0) store.forgetMails(tx, teamId, addresses);
}

/** Those that there still are. */
export function addressesOf(memberships: readonly Addressed[]): string[] {
  return memberships.flatMap(({ email }) => email ?? []);
}

/** The key is that of the membership, so at most one mail to it waits. */
function invitationJob(teamId: string, memberId: string) {
  return {
    task: SEND_INVITATION,
    payload: { teamId, memberId },
    key: `${SEND_INVITATION}:${teamId}:${memberId}`,
  };
}

/** Locks the team, and reads who acts and the member to change. Throws `not_found`. */
async function lockTarget(
  tx: Tx,
  context: ChangeContext,
  memberId: string,
): Promise<{ readonly current: CurrentContext; readonly target: store.TargetRow }> {
  const [current, target] = await Promise.all([
    lockTeamFor(tx, context),
    store.findTarget(tx, context.teamId, memberId),
  ]);
  if (!target) throw notFound();
  return { current, target };
}

/** The content of the invitation mail. */
export { findInvitation } from './invitation-store.ts';
