import type { TestApi } from './api.ts';

/** An entry of the audit log: who did what to which target. */
export interface AuditEntry {
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly action: string;
  readonly target_id: string;
  readonly details: unknown;
}

/** Returns the audit entries of the team, oldest first. */
export async function auditOf({ db }: Pick<TestApi, 'db'>, teamId: string): Promise<AuditEntry[]> {
  const { rows } = await db.pool.query<AuditEntry>(
    `select actor_kind, actor_id, action, target_id, details
     from audit_log
     where team_id = $1
     order by created_at, id`,
    [teamId],
  );
  return rows;
}

/** What an audit entry says about its target. */
export type TargetEntry = Pick<AuditEntry, 'action' | 'details'>;

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

/** Returns what the team's users did, oldest first. */
export async function auditOfUsers(
  api: Pick<TestApi, 'db'>,
  teamId: string,
): Promise<Pick<AuditEntry, 'action' | 'target_id' | 'details'>[]> {
  const entries = await auditOf(api, teamId);
  return entries
    .filter(({ actor_kind: kind }) => kind === 'user')
    .map(({ action, target_id, details }) => ({ action, target_id, details }));
}
