import type { Role } from '../../core/actor.ts';
import type { Tx } from '../../db/client.ts';

/** What a first key depends on. */
export interface TeamForKey {
  readonly status: string;
  /** null: the team has no owner. */
  readonly ownerId: string | null;
}

/** The team, or null. Needs `lockTeam`. */
export async function findTeamForKey(tx: Tx, teamId: string): Promise<TeamForKey | null> {
  const [team, owner] = await Promise.all([
    tx.prisma.team.findFirst({ where: { id: teamId }, select: { status: true } }),
    tx.prisma.member.findFirst({
      where: { teamId, role: 'owner' satisfies Role, status: { not: 'ended' } },
      select: { id: true },
    }),
  ]);
  return team && { ...team, ownerId: owner?.id ?? null };
}
