/** Reads what is known of an API key and of a CRM connection: no secret's hash, no credentials. */
import { statement, type Db } from '../db/client.ts';
import { keyStateAt, LAST_USED } from '../db/key-state.ts';
import { listed, type RowOf } from '../db/rows.ts';
import type { KeyState } from '../features/api-keys/rules.ts';
import { REQUEST, type RequestRow } from './find-store.ts';
import { LIMITS } from './rules.ts';

const CHANGE = ['created_at', 'action', 'actor_kind', 'actor_id', 'request_id'] as const;

/** An audit entry about something. `detail`: an endpoint's new state, the code of a failed run. */
export type ChangeRow = RowOf<'AuditLog', (typeof CHANGE)[number]> & {
  readonly detail: string | null;
};

/** The newest audit entries about something, newest first. */
export const listChanges = statement<ChangeRow>(
  'trace.listChanges',
  `select ${listed(CHANGE)},
     case action
       when 'crm_connection.sync_failed' then details ->> 'reason'
       when 'webhook_endpoint.updated' then details ->> 'status'
     end as detail
   from audit_log
   where team_id = $1 and target_id = $2
   order by created_at desc, id desc
   limit ${LIMITS.changes}`,
).lists<[db: Db, teamId: string, targetId: string]>();

const KEY = ['id', 'team_id', 'name', 'prefix', 'created_by', 'created_at'] as const;
const KEY_ENDS = ['expires_at', 'revoked_at'] as const;

/** A key. `networks`: how many it is bound to; 0: none. */
export type KeyRow = RowOf<'ApiKey', (typeof KEY)[number] | (typeof KEY_ENDS)[number]> & {
  readonly last_used_at: string | null;
  readonly networks: number;
  readonly state: KeyState;
};

export const findKey = statement<KeyRow>(
  'trace.findKey',
  `select ${listed(KEY, 'k.')}, ${keyStateAt('now()')} as state, ${listed(KEY_ENDS, 'k.')},
     ${LAST_USED} as last_used_at, coalesce(cardinality(k.allowed_ips), 0) as networks
   from api_key k
   where k.team_id = $1 and k.id = $2`,
).finds<[db: Db, teamId: string, keyId: string]>();

/** How the calls of a key ended, also those that the request log leaves out. `limited`: 429. */
export interface UsageRow {
  readonly ok: number;
  readonly refused: number;
  readonly limited: number;
  readonly failed: number;
}

/** The calls from a day on (`YYYY-MM-DD`, UTC). */
export const sumUsage = statement<UsageRow>(
  'trace.sumUsage',
  `select coalesce(sum(count_2xx), 0)::int as ok, coalesce(sum(count_4xx), 0)::int as refused,
     coalesce(sum(count_429), 0)::int as limited, coalesce(sum(count_5xx), 0)::int as failed
   from api_key_usage
   where team_id = $1 and key_id = $2 and day >= $3::date`,
).finds<[db: Db, teamId: string, keyId: string, since: string]>();

// No index has the key. So it looks through the team's newest calls only, by the list's index.
/** The key's last calls that were refused or failed, among the newest calls of its team. */
export const listRefused = statement<RequestRow>(
  'trace.listRefused',
  `select ${listed(REQUEST)}
   from (
     select ${listed(REQUEST)}
     from request_log
     where team_id = $1
     order by created_at desc, id desc
     limit ${LIMITS.calls}
   ) newest
   where key_id = $2 and status >= 400
   order by created_at desc, id desc
   limit ${LIMITS.failed}`,
  { isMerged: true },
).lists<[db: Db, teamId: string, keyId: string]>();

const CONNECTION = [
  'id',
  'team_id',
  'provider',
  'status',
  'created_at',
  'last_synced_at',
  'last_error',
  'failure_streak',
  'next_sync_at',
  'sync_requested_at',
  'sync_lease_until',
] as const;

/** A connection. `reads`: the list that a round has come to; null: no round is under way. */
export type ConnectionRow = RowOf<'CrmConnection', (typeof CONNECTION)[number]> & {
  readonly has_credentials: boolean;
  readonly reads: string | null;
};

/** The connection with this id; with null, those of the team that are not disconnected. */
export const listConnections = statement<ConnectionRow>(
  'trace.listConnections',
  `select ${listed(CONNECTION)}, credentials_encrypted is not null as has_credentials,
     sync_state -> 'round' ->> 'list' as reads
   from crm_connection
   where team_id = $1
     and case when $2::text is null then status <> 'disconnected' else id = $2 end
   order by created_at desc, id desc
   limit ${LIMITS.connections}`,
).lists<[db: Db, teamId: string, id: string | null]>();

/** A job that waits or runs. */
export interface JobRow {
  readonly task: string;
  readonly run_at: string;
  readonly locked_at: string | null;
}

/** The jobs of these keys (`job_key`), each of which there is once at most. */
export const listJobs = statement<JobRow>(
  'trace.listJobs',
  `select task_identifier as task, run_at, locked_at
   from graphile_worker.jobs
   where key = any ($1::text[])`,
).lists<[db: Db, keys: readonly string[]]>();
