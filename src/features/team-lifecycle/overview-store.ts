import { sandboxIdOf } from '../../core/sandbox.ts';
import { statement, type Db } from '../../db/client.ts';
import { liveKeysAt } from '../../db/key-state.ts';
import { selectionOf } from '../../db/rows.ts';

/** What is counted is counted up to here: a team may have millions of deliveries that wait. */
export const COUNT_MAX = 1000;

const FACTS = selectionOf('Team', ['name', 'status', 'plan', 'seats']);

/** How much a team has. A number above `COUNT_MAX` means that there are more. */
interface CountsRow {
  readonly members: number;
  readonly live_keys: number;
  readonly webhook_endpoints: number;
  readonly waiting_deliveries: number;
}

/** A team as its operator sees it, without what it holds of persons. */
export interface TeamOverview extends ReturnType<typeof FACTS.toRow>, CountsRow {
  readonly is_erasing: boolean;
  /** null: the owner was deleted. */
  readonly owner_member_id: string | null;
  readonly has_sandbox: boolean;
}

// Each count reads the beginning of one index, whose condition stands in the text. The order is
// that of the index: without it, the planner may look for few among all rows of the team.
const counted = (range: string, order: string): string => `(
       select count(*)::int
       from (
         select
         from ${range}
         order by ${order}
         limit ${COUNT_MAX + 1}
       ) counted
     )`;
const waiting = (waitsAs: string, order: string): string =>
  counted(`webhook_delivery where team_id = $1 and waits_as = '${waitsAs}'`, order);

const COUNT = statement<CountsRow>(
  'team.countHoldings',
  `select
     ${counted(`member where team_id = $1 and status <> 'ended'`, 'created_at desc, id desc')}
       as members,
     (
       select count(*)::int
       from ${liveKeysAt('$2')} live
     ) as live_keys,
     ${counted('webhook_endpoint where team_id = $1', 'id')} as webhook_endpoints,
     ${waiting('pending', 'endpoint_id, id')} + ${waiting('retrying', 'endpoint_id, due_at')}
       as waiting_deliveries
   from team t
   where t.id = $1`,
);

/** The team, also while it is being erased, or null. `at` decides which keys are live. */
export async function findOverview(db: Db, teamId: string, at: Date): Promise<TeamOverview | null> {
  const { prisma } = db;
  const team = await prisma.team.findFirst({
    where: { id: teamId },
    select: { ...FACTS.select, erasingSince: true },
  });
  if (!team) return null;
  const { erasingSince, ...facts } = team;
  const [owner, counts, sandboxes] = await Promise.all([
    prisma.member.findFirst({
      where: { teamId, role: 'owner', status: { not: 'ended' } },
      select: { id: true },
    }),
    db.queryFirst(COUNT, [teamId, at]),
    prisma.team.count({ where: { id: sandboxIdOf(teamId), erasingSince: null } }),
  ]);
  // It was erased meanwhile.
  if (!counts) return null;
  return {
    ...FACTS.toRow(facts),
    ...counts,
    is_erasing: erasingSince !== null,
    owner_member_id: owner?.id ?? null,
    has_sandbox: sandboxes > 0,
  };
}
