import { unknownId } from '../../core/problem.ts';
import { sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { record } from '../../db/outbox.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { touchAssignments } from '../assignments/service.ts';
import * as rules from './platform-rules.ts';
import * as store from './platform-store.ts';
import {
  addressesOf,
  endMembership,
  forgetEmails,
  forgetMails,
  removeEmails,
  removeMember,
} from './service.ts';

/** Who accepts which invitation. */
export interface Acceptance {
  readonly userId: string;
  /** Either `memberId` or `email` is set. */
  readonly memberId: string | null;
  readonly email: string | null;
}

/**
 * Assigns an invited membership to the person. A repeated call changes nothing. Opens a
 * transaction. Emits no event. Throws `not_found`, `conflict`.
 */
export async function acceptInvitation(
  db: Db,
  context: PlatformChangeContext,
  acceptance: Acceptance,
): Promise<Omit<store.InvitedRow, 'is_live_already'>> {
  const { teamId, at } = context;
  const { userId } = acceptance;
  return db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const [current, target] = await Promise.all([
      readChangeContext(tx, context),
      store.findInvited(tx, teamId, acceptance),
    ]);
    if (!target) throw unknownId(acceptance.memberId === null ? 'email' : 'member_id');
    if (!rules.requireAcceptable(target, userId, target.is_live_already)) return target;
    await store.activate(tx, teamId, target.id, { userId, at });
    await touchAssignments(tx, teamId, target.id);
    record(tx, current, {
      audit: { action: 'member.accepted', targetId: target.id, details: { user_id: userId } },
    });
    return { ...target, user_id: userId, status: 'active', joined_at: at.toISOString() };
  });
}

/**
 * Ends the person's memberships in the team and removes the email from all of them. Whoever was
 * invited to the team's sandbox with such an email leaves it, too. Opens a transaction: what shows
 * the email can be many assignments, which count as changed after its commit, in steps. If the
 * process dies meanwhile, the repeated call does that. Throws `not_found`, and `owner` and
 * `last_admin` unless the team has ended.
 */
export async function deletePerson(
  db: Db,
  context: PlatformChangeContext,
  userId: string,
): Promise<void> {
  const { teamId } = context;
  await db.transaction(async (tx) => {
    // First, because whoever resets it holds its lock for seconds, and nobody of the team waits.
    lockTeam(tx, sandboxIdOf(teamId));
    lockTeam(tx, teamId);
    const [current, memberships] = await Promise.all([
      readChangeContext(tx, context),
      store.listMembershipsOfPerson(tx, teamId, userId),
    ]);
    if (memberships.length === 0) throw unknownId('user_id');
    for (const membership of memberships.filter(({ status }) => status !== 'ended')) {
      if (membership.team_has_ended) await endMembership(tx, current, membership, 'member.removed');
      else await removeMember(tx, current, membership.id);
    }
    tx.afterCommit(async (later) => {
      for (const { id } of memberships) await touchAssignments(later, teamId, id);
    });
    const addressed = memberships.filter(({ email }) => email !== null);
    if (addressed.length === 0) return;
    const named = addressed.map(({ id }) => id);
    removeEmails(tx, teamId, addressed);
    store.forgetCreation(tx, teamId, named);
    await forgetInSandbox(tx, context, addressesOf(addressed));
    record(tx, current, {
      audit: { action: 'person.deleted', targetId: userId, details: { member_ids: named } },
    });
  });
}

/**
 * Removes the addresses from the team's sandbox, if it has one. Whoever is a member with one of
 * them leaves, even its last admin: its owner stays.
 */
async function forgetInSandbox(
  tx: Tx,
  context: PlatformChangeContext,
  addresses: readonly string[],
): Promise<void> {
  const teamId = sandboxIdOf(context.teamId);
  const members = await store.listByAddresses(tx, teamId, addresses);
  forgetMails(tx, teamId, addresses);
  if (members.length === 0) return;
  const current = await readChangeContext(tx, { ...context, teamId });
  for (const member of members.filter(({ status }) => status !== 'ended'))
    await endMembership(tx, current, member, 'member.removed');
  await forgetEmails(tx, teamId, members);
}
