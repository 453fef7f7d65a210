import type { PageSlice } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { asLiveMember, listed, selectionOf, type LiveMember } from '../../db/rows.ts';

const ADMIN = ['id', 'email', 'role', 'status', 'rights', 'created_at'] as const;
const SELECTION = selectionOf('Member', ADMIN);

/** A membership with its rights. */
export type AdminRow = LiveMember<(typeof ADMIN)[number]>;

const LIST_ADMINS = statement<AdminRow>(
  'team.listAdmins',
  `select ${listed(ADMIN)}
   from member
   where team_id = $1
     and status <> 'ended'
     and role = 'admin'
     and ${isAfter(BY_CREATION, ['$3', '$4'])}
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Lists live members with the role admin, newest first, from the position `after` on. */
export function listAdmins(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<AdminRow[]> {
  return db.query(LIST_ADMINS, [teamId, limit, ...positionValues(after)]);
}

/** A live member with any role, or null. */
export async function findMember(
  db: Db,
  teamId: string,
  memberId: string,
): Promise<AdminRow | null> {
  const found = await db.prisma.member.findFirst({
    where: { teamId, id: memberId, status: { not: 'ended' } },
    select: SELECTION.select,
  });
  return found && asLiveMember(SELECTION.toRow(found));
}

/** Replaces the rights of a member. */
export async function setRights(
  tx: Tx,
  teamId: string,
  memberId: string,
  rights: readonly string[],
): Promise<void> {
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { rights: [...rights] },
  });
}

/** The privacy switches as they are set. `core/privacy.ts` decides what follows from them. */
export type Switches = ReturnType<typeof SWITCH_SELECTION.toRow>;
const SWITCH_SELECTION = selectionOf('Team', ['member_detail_enabled', 'leaderboard_enabled']);

/** The team's switches. */
export async function findSwitches(db: Db, teamId: string): Promise<Switches> {
  const { select } = SWITCH_SELECTION;
  const team = await db.prisma.team.findFirstOrThrow({ where: { id: teamId }, select });
  return SWITCH_SELECTION.toRow(team);
}

/** Sets both switches. */
export async function setSwitches(tx: Tx, teamId: string, switches: Switches): Promise<void> {
  const data = SWITCH_SELECTION.toData(switches);
  await tx.prisma.team.updateMany({ where: { id: teamId }, data });
}
