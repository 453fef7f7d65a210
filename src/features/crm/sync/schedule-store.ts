import { SANDBOX_END } from '../../../core/sandbox.ts';
import { statement, type Db } from '../../../db/client.ts';
import { keyOfJobText, SYNC_CONNECTION } from './jobs.ts';

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
const LIVE_MAX = 1000;
/** Sandboxes share one queue, and have so many places in a minute. */
const SANDBOXES_MAX = 100;

const JOB_KEY = keyOfJobText(SYNC_CONNECTION, { teamId: 'due.team_id', connectionId: 'due.id' });

const IS_SANDBOX = `c.team_id like '%${SANDBOX_END}'`;

/** Those of sandboxes apart: no live team waits for them. */
const SCHEDULES = [
  scheduling('live', {
    which: `not ${IS_SANDBOX}`,
    limit: LIVE_MAX,
    queue: `(hashtext(due.key) & 2147483647) % ${QUEUES}`,
  }),
  scheduling('sandboxes', {
    which: IS_SANDBOX,
    limit: SANDBOXES_MAX,
    queue: `'sandboxes'`,
  }),
];

interface Scheduled {
  /** SQL: a condition. */
  readonly which: string;
  readonly limit: number;
  /** SQL: which queue. */
  readonly queue: string;
}

function scheduling(name: string, { which, limit, queue }: Scheduled) {
  return statement(
    `crm.scheduleSyncs.${name}`,
    `select (
       graphile_worker.add_job(
         identifier => '${SYNC_CONNECTION}',
         payload => json_build_object('teamId', due.team_id, 'connectionId', due.id),
         queue_name => 'crm_sync_' || ${queue},
         max_attempts => 1,
         job_key => ${JOB_KEY},
         job_key_mode => 'preserve_run_at'
       )
     ).id
     from (
       select c.team_id, c.id, c.team_id || ':' || c.id as key
       from crm_connection c
       where ${IS_DUE}
         and ${which}
       order by c.next_sync_at
       limit ${limit}
     ) due`,
  );
}

/** Enqueues a job for each connection that is due and that no run has. */
export async function enqueueDue(db: Db, now: Date): Promise<void> {
  for (const schedule of SCHEDULES) await db.query(schedule, [now]);
}
