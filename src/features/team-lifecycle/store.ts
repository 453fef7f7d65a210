import { SCHNITTSTELLEN } from '../../core/access.ts';
import type { MemberStatus, Role } from '../../core/actor.ts';
import {
  asSandbox,
  isSandbox,
  sandboxIdOf,
  statusInSandbox,
  TAKEN_OVER,
} from '../../core/sandbox.ts';
import { statement, type Tx } from '../../db/client.ts';
import { listed, selectionOf, type RowOf } from '../../db/rows.ts';
import { lockTeam } from '../../db/team-lock.ts';

const CHANGEABLE = ['name', 'plan', 'status', 'seats', 'language', 'rate_limit_per_min'] as const;
const CHANGES = selectionOf('Team', CHANGEABLE);
const IN_SANDBOX = selectionOf('Team', TAKEN_OVER);

/** A team. */
export type TeamRow = RowOf<'Team', 'id' | (typeof CHANGEABLE)[number]>;

const CREATION = selectionOf('Team', ['id', ...CHANGEABLE, 'creation_hash', 'created_at']);

/** A team to create. `creation_hash` identifies the input of the creation. */
export type NewTeam = TeamRow & Parameters<typeof CREATION.toData>[0];

/**
 * Inserts a team. Returns false if it exists. Waits for a concurrent insertion of the same team.
 */
export async function insertTeam(tx: Tx, team: NewTeam): Promise<boolean> {
  const { count } = await tx.prisma.team.createMany({
    data: [CREATION.toData(team)],
    skipDuplicates: true,
  });
  return count > 0;
}

/** The first member of a team. */
export interface Owner {
  readonly memberId: string;
  readonly userId: string;
  readonly email: string;
}

/** Inserts the owner as an active member with the right `schnittstellen`. */
export async function insertOwner(
  tx: Tx,
  teamId: string,
  { memberId, userId, email }: Owner,
  at: Date,
): Promise<void> {
  await tx.prisma.person.createMany({ data: [{ teamId, id: userId }] });
  await tx.prisma.member.createMany({
    data: [
      {
        teamId,
        id: memberId,
        userId,
        email,
        role: 'owner' satisfies Role,
        status: 'active' satisfies MemberStatus,
        rights: [SCHNITTSTELLEN],
        joinedAt: at,
        createdAt: at,
      },
    ],
  });
}

/**
 * What the team was created with, by an owner who is this person. Null if it was created in another
 * way. A creation gives the team and its owner one time, which nothing changes, and rows of members
 * are never deleted. Who was invited is not told by time: clocks of processes differ.
 */
export async function findCreation(
  tx: Tx,
  teamId: string,
  userId: string,
): Promise<{ hash: Buffer; ownerMemberId: string } | null> {
  const team = await tx.prisma.team.findFirst({
    where: { id: teamId },
    select: { creationHash: true, createdAt: true },
  });
  if (!team?.creationHash) return null;
  const owner = await tx.prisma.member.findFirst({
    where: { teamId, userId, createdAt: team.createdAt },
    select: { id: true },
  });
  return owner && { hash: Buffer.from(team.creationHash), ownerMemberId: owner.id };
}

const FIND_FOR_UPDATE = statement<TeamRow>(
  'teams.findForUpdate',
  `select id, ${listed(CHANGEABLE)}
   from team
   where id = $1 and erasing_since is null
   for no key update`,
);

/**
 * The team, or null; null also while it is being erased. Takes the lock that writers of memberships
 * take, so that the number of seats cannot change during an invitation. That of its sandbox comes
 * first, because whoever resets it holds its lock for seconds, and nobody of the team waits.
 */
export function findTeamForUpdate(tx: Tx, teamId: string): Promise<TeamRow | null> {
  if (!isSandbox(teamId)) lockTeam(tx, sandboxIdOf(teamId));
  return tx.queryFirst(FIND_FOR_UPDATE, [teamId]);
}

/** Writes all fields of a team. */
export async function updateTeam(tx: Tx, team: TeamRow): Promise<void> {
  await tx.prisma.team.updateMany({ where: { id: team.id }, data: CHANGES.toData(team) });
}

/**
 * Its sandbox, if it has one that is not being erased, takes over what the team has now. An active
 * team's sandbox stays suspended while that is simulated; a team that is closed ends the
 * simulation. Its team must be locked: then nobody begins or ends a simulated suspension.
 */
export async function updateSandbox(tx: Tx, team: TeamRow): Promise<void> {
  const sandboxId = sandboxIdOf(team.id);
  const simulated = { teamId: sandboxId, suspendedUntil: { not: null } };
  if (team.status !== 'active')
    await tx.prisma.sandbox.updateMany({ where: simulated, data: { suspendedUntil: null } });
  const isSimulated = (await tx.prisma.sandbox.count({ where: simulated })) > 0;
  const status = statusInSandbox(team.status, isSimulated);
  await tx.prisma.team.updateMany({
    where: { id: sandboxId, erasingSince: null },
    data: IN_SANDBOX.toData({ ...asSandbox(team), status }),
  });
}

const OWNERSHIP = selectionOf('Member', ['id', 'role', 'status']);

/** A live member, of whom one is the owner. */
export type OwnershipRow = ReturnType<typeof OWNERSHIP.toRow>;

/** The owner and the live member, where there are such. Needs `lockTeam`. */
export async function findOwnerAndMember(
  tx: Tx,
  teamId: string,
  memberId: string,
): Promise<OwnershipRow[]> {
  const found = await tx.prisma.member.findMany({
    where: { teamId, status: { not: 'ended' }, OR: [{ role: 'owner' }, { id: memberId }] },
    select: OWNERSHIP.select,
  });
  return found.map(OWNERSHIP.toRow);
}

/** Makes the owner an admin without rights. */
export async function makeAdmin(tx: Tx, teamId: string, memberId: string): Promise<void> {
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { role: 'admin', rights: [] },
  });
}

/** Makes a member the owner. There may be no other owner: a unique index sees to that. */
export async function makeOwner(tx: Tx, teamId: string, memberId: string): Promise<void> {
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { role: 'owner', rights: [SCHNITTSTELLEN] },
  });
}
