/**
 * The end of a suspension that was played in a sandbox. A job ends it (`features/sandbox`). Keys do
 * not wait for a job that is late. Only requests that would be refused ask, and only of sandboxes.
 */
import { hasApi } from '../../../core/plans.ts';
import { isSandbox, liveIdOf } from '../../../core/sandbox.ts';
import { statement, type Queries } from '../../../db/client.ts';
import type { TeamFacts } from '../../../trpc/context.ts';

const FIND_OVER = statement(
  'http.findPlayedSuspensionOver',
  `select
   from sandbox
   where team_id = $1 and suspended_until <= coalesce($2, statement_timestamp())`,
);

const FIND_ACTIVE = statement(
  'http.findActiveTeam',
  `select from team where id = $1 and status = 'active' and erasing_since is null`,
  { because: 'hot' },
);

/** Whether a team is closed only because a played suspension has not been ended on time. */
export async function isOverdue(
  db: Queries,
  { id, plan }: TeamFacts,
  now: Date | null,
): Promise<boolean> {
  if (!isSandbox(id) || !hasApi(plan)) return false;
  if (!(await db.queryFirst(FIND_OVER, [id, now]))) return false;
  return (await db.queryFirst(FIND_ACTIVE, [liveIdOf(id)])) !== null;
}
