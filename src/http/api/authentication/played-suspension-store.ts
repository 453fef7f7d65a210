import { statement, type Queries } from '../../../db/client.ts';

const FIND_OVER = statement(
  'http.findPlayedSuspensionOver',
  `select
   from sandbox
   where team_id = $1 and suspended_until <= coalesce($2, statement_timestamp())`,
);

/** Whether the sandbox has a suspension that should have ended. `now` null: the database's time. */
export async function isSuspensionOver(
  db: Queries,
  sandboxId: string,
  now: Date | null,
): Promise<boolean> {
  return (await db.queryFirst(FIND_OVER, [sandboxId, now])) !== null;
}

const FIND_ACTIVE = statement(
  'http.findActiveTeam',
  `select from team where id = $1 and status = 'active' and erasing_since is null`,
  { because: 'hot' },
);

export async function isActive(db: Queries, teamId: string): Promise<boolean> {
  return (await db.queryFirst(FIND_ACTIVE, [teamId])) !== null;
}
