import { statement, type Db } from '../../../db/client.ts';
import { SYNC_CONNECTION } from './jobs.ts';

/** SQL: `crm_connection c` should be synchronized at time $1, and no run has it. */
export const IS_DUE = `c.status = 'active'
     and c.credentials_encrypted is not null
     and c.next_sync_at <= $1
     and (c.sync_lease_until is null or c.sync_lease_until <= $1)
     and exists (
       select from team t
       where t.id = c.team_id
         and t.status = 'active'
     )`;

/**
 * The queues that all workers share; each runs one job at a time. With five, mails always find a
 * free slot. A sync of a few changes takes about a second, so five serve thousands of connections.
 */
const QUEUES = 5;
const SCHEDULE_MAX = 1000;

const SCHEDULE = statement(
  'crm.scheduleSyncs',
  `select (
     graphile_worker.add_job(
       identifier => '${SYNC_CONNECTION}',
       payload => json_build_object('teamId', due.team_id, 'connectionId', due.id),
       queue_name => 'crm_sync_' || (hashtext(due.key) & 2147483647) % ${QUEUES},
       max_attempts => 1,
       job_key => '${SYNC_CONNECTION}:' || due.key,
       job_key_mode => 'preserve_run_at'
     )
   ).id
   from (
     select c.team_id, c.id, c.team_id || ':' || c.id as key
     from crm_connection c
     where ${IS_DUE}
     order by c.next_sync_at
     limit ${SCHEDULE_MAX}
   ) due`,
);

/** Enqueues a job for each connection that is due and that no run has. */
export async function enqueueDue(db: Db, now: Date): Promise<void> {
  await db.query(SCHEDULE, [now]);
}
