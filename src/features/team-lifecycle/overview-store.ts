import type { Db } from '../../db/client.ts';
import { sandboxIdOf } from '../../core/sandbox.ts';
import { selectionOf } from '../../db/rows.ts';

/** What is counted is counted up to here: a team may have millions of deliveries that wait. */
export const COUNT_MAX = 1000;
/** A count of this size means `COUNT_MAX` or more. */
const take = COUNT_MAX + 1;

const FACTS = selectionOf('Team', ['name', 'status', 'plan', 'seats']);

/** A team as its operator sees it, without what it holds of persons. */
export interface TeamOverview extends ReturnType<typeof FACTS.toRow> {
  readonly is_erasing: boolean;
  /** null: the owner was deleted. */
  readonly owner_member_id: string | null;
  readonly members: number;
  readonly live_keys: number;
  readonly webhook_endpoints: number;
  readonly waiting_deliveries: number;
  readonly has_sandbox: boolean;
}

/** The team, also while it is being erased, or null. `at` decides which keys are live. */
export async function findOverview(db: Db, teamId: string, at: Date): Promise<TeamOverview | null> {
  const { prisma } = db;
  const notBefore = (name: 'revokedAt' | 'expiresAt') => ({
    OR: [{ [name]: null }, { [name]: { gt: at } }],
  });
  const team = await prisma.team.findFirst({
    where: { id: teamId },
    select: { ...FACTS.select, erasingSince: true },
  });
  if (!team) return null;
  const { erasingSince, ...facts } = team;
  const [owner, members, liveKeys, endpoints, pending, retrying, sandboxes] = await Promise.all([
    prisma.member.findFirst({
      where: { teamId, role: 'owner', status: { not: 'ended' } },
      select: { id: true },
    }),
    prisma.member.count({ where: { teamId, status: { not: 'ended' } }, take }),
    prisma.apiKey.count({
      where: { teamId, AND: [notBefore('revokedAt'), notBefore('expiresAt')] },
      take,
    }),
    prisma.webhookEndpoint.count({ where: { teamId }, take }),
    // One partial index for each.
    prisma.webhookDelivery.count({ where: { teamId, waitsAs: 'pending' }, take }),
    prisma.webhookDelivery.count({ where: { teamId, waitsAs: 'retrying' }, take }),
    prisma.team.count({ where: { id: sandboxIdOf(teamId), erasingSince: null } }),
  ]);
  return {
    ...FACTS.toRow(facts),
    is_erasing: erasingSince !== null,
    owner_member_id: owner?.id ?? null,
    members,
    live_keys: liveKeys,
    webhook_endpoints: endpoints,
    waiting_deliveries: pending + retrying,
    has_sandbox: sandboxes > 0,
  };
}
