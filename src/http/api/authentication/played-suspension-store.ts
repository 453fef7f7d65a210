import { statement, type Queries } from '../../../db/client.ts';

/** Whether the sandbox has a suspension that should have ended. `now` null: the database's time. */
export const isSuspensionOver = statement(
  'http.findPlayedSuspensionOver',
  `select
   from sandbox
   where team_id = $1 and suspended_until <= coalesce($2, statement_timestamp())`,
).matches<[db: Queries, sandboxId: string, now: Date | null]>();

export const isActive = statement(
  'http.findActiveTeam',
  `select from team where id = $1 and status = 'active' and erasing_since is null`,
).matches<[db: Queries, teamId: string]>();
