import { notFound } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { record } from '../../db/outbox.ts';
import { readOccasion, type PlatformOccasion } from '../../db/team-privacy.ts';
import * as rules from './platform-rules.ts';
import * as store from './platform-store.ts';
import { requireNotOwner } from './rules.ts';
import { removeMember } from './service.ts';

export interface Acceptance {
  readonly userId: string;
  /** One of the two is set. */
  readonly memberId: string | null;
  readonly email: string | null;
}

/** Makes an invited membership the person's, once. Opens a transaction; raises no event. Throws `not_found`, `conflict`. */
export async function acceptInvitation(
  db: Db,
  occasion: PlatformOccasion,
  acceptance: Acceptance,
): Promise<Omit<store.InvitedRow, 'is_live_already'>> {
  const { teamId, at } = occasion;
  const { userId } = acceptance;
  return db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const [now, target] = await Promise.all([readOccasion(tx, occasion), store.findInvited(tx, teamId, acceptance)]);
    if (!target) throw notFound();
    if (!rules.requireAcceptable(target, userId, target.is_live_already)) return target;
    store.activate(tx, teamId, target.id, { userId, at });
    record(tx, now, { audit: { action: 'member.accepted', targetId: target.id, details: { user_id: userId } } });
    return { ...target, user_id: userId, status: 'active', joined_at: at.toISOString() };
  });
}

/** Takes the person's address from the team's memberships and ends the live ones. Opens a transaction. Throws `not_found`, `owner`, `last_admin`. */
export async function deletePerson(db: Db, occasion: PlatformOccasion, userId: string): Promise<void> {
  const { teamId } = occasion;
  await db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const [now, memberships] = await Promise.all([
      readOccasion(tx, occasion),
      store.listMembershipsOfPerson(tx, teamId, userId),
    ]);
    if (memberships.length === 0) throw notFound();
    for (const membership of memberships.filter(({ status }) => status !== 'ended')) {
      requireNotOwner(membership);
      await removeMember(tx, now, membership.id);
    }
    const named = memberships.filter((membership) => membership.has_email).map(({ id }) => id);
    if (named.length === 0) return;
    store.forgetEmails(tx, teamId, named);
    record(tx, now, { audit: { action: 'person.deleted', targetId: userId, details: { member_ids: named } } });
  });
}
