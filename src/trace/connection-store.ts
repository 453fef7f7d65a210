/** Reads what is known of a CRM connection, and of the jobs that work for it. No credentials. */
import { statement, type Db } from '../db/client.ts';
import { listed, type RowOf } from '../db/rows.ts';
import { LIMITS } from './rules.ts';

const CONNECTION = [
  'team_id',
  'id',
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
  readonly key: string;
  readonly task: string;
  readonly run_at: string;
  readonly locked_at: string | null;
}

/** The jobs of these keys (`job_key`), each of which there is once at most. */
export const listJobs = statement<JobRow>(
  'trace.listJobs',
  `select key, task_identifier as task, run_at, locked_at
   from graphile_worker.jobs
   where key = any ($1::text[])`,
).lists<[db: Db, keys: readonly string[]]>();
