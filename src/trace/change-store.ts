import { statement, type Db } from '../db/client.ts';
import { listed, type RowOf } from '../db/rows.ts';
import { LIMITS } from './rules.ts';

const CHANGE = ['created_at', 'actor_kind', 'actor_id', 'action', 'request_id'] as const;

/** An audit entry about a key or a connection. `reason`: the code of a failed synchronization. */
export type ChangeRow = RowOf<'AuditLog', (typeof CHANGE)[number]> & {
  readonly reason: string | null;
};

/** The newest audit entries about something, newest first. */
export const listChanges = statement<ChangeRow>(
  'trace.listChanges',
  `select ${listed(CHANGE)},
     case when action = 'crm_connection.sync_failed' then details ->> 'reason' end as reason
   from audit_log
   where team_id = $1 and target_id = $2
   order by created_at desc, id desc
   limit ${LIMITS.changes}`,
).lists<[db: Db, teamId: string, targetId: string]>();
