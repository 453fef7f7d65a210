import type { TestApi } from './api.ts';

/** What an audit entry says about its target. */
export interface TargetEntry {
  readonly action: string;
  readonly details: unknown;
}

/** Returns the audit entries about this target, oldest first. */
export async function auditOfTarget(
  { db }: Pick<TestApi, 'db'>,
  targetId: string,
): Promise<TargetEntry[]> {
  const { rows } = await db.pool.query<TargetEntry>(
    'select action, details from audit_log where target_id = $1 order by id',
    [targetId],
  );
  return rows;
}

/** An audit entry of a user. */
export interface UserEntry extends TargetEntry {
  readonly target_id: string;
}

/** Returns the audit entries of the team's users, oldest first. */
export async function auditOfUsers(
  { db }: Pick<TestApi, 'db'>,
  teamId: string,
): Promise<UserEntry[]> {
  const { rows } = await db.pool.query<UserEntry>(
    `select action, target_id, details
     from audit_log
     where team_id = $1 and actor_kind = 'user'
     order by created_at, id`,
    [teamId],
  );
  return rows;
}
