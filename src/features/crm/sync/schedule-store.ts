import { SANDBOX_END } from '../../../core/sandbox.ts';
import { statement, type Db } from '../../../db/client.ts';
import { SANDBOX_QUEUE, SYNC_LANES, type SyncLane } from '../rules.ts';
import { keyOfJobText, SYNC_CONNECTION } from './jobs.ts';

/** SQL: no run has `crm_connection c` at time $1. */
export const IS_FREE = '(c.sync_lease_until is null or c.sync_lease_until <= $1)';

/** SQL: `crm_connection c` should be synchronized at time $1. */
export const IS_WANTED = `c.status = 'active'
     and c.credentials_encrypted is not null
     and c.next_sync_at <= $1
     and exists (
       select from team t
       where t.id = c.team_id
         and t.status = 'active'
     )`;

/** The jobs of a lane, or of sandboxes, that a minute has: more than its queues can run. */
const JOBS_MAX: Readonly<Record<SyncLane | 'sandboxes', number>> = {
  regular: 500,
  long: 100,
  failing: 100,
  sandboxes: 100,
};

const JOB_KEY = keyOfJobText(SYNC_CONNECTION, { teamId: 'due.team_id', connectionId: 'due.id' });

const LANE = `case
           when c.team_id like '%${SANDBOX_END}' then 'sandboxes'
           when c.last_error is not null then 'failing'
           when jsonb_typeof(c.sync_state -> 'round') = 'object' then 'long'
           when coalesce(c.sync_state ->> 'fullAt', '') <= $2 then 'long'
           else 'regular'
         end`;

/** Of a lane's jobs, the lower number comes first. */
const PRIORITY = `case
           when c.last_error is not null then least(c.failure_streak, 10)
           when jsonb_typeof(c.sync_state -> 'round') = 'object' then 1
           when c.sync_state ->> 'fullAt' <= $2 then 1
           else 0
         end`;

const QUEUE = `'crm_sync_' || case lane
         when 'sandboxes' then '${SANDBOX_QUEUE}'
         else provider || '_' || lane || '_' || (hashtext(team_id) & 2147483647) % case lane
${Object.entries(SYNC_LANES)
  .map(([lane, queues]) => `           when '${lane}' then ${queues}`)
  .join('\n')}
         end
       end`;

const JOBS = Object.entries(JOBS_MAX)
  .map(([lane, max]) => `         when '${lane}' then ${max}`)
  .join('\n');

interface DueRow {
  readonly team_id: string;
  readonly id: string;
  readonly queue: string;
  readonly priority: number;
}

// One job of each team in each queue: the team's other connections follow after its run.
function finding(name: string, which: string) {
  return statement<DueRow>(
    `crm.findDueSyncs.${name}`,
    `select due.team_id, due.id, due.queue, due.priority
     from (
       select first.*,
         row_number() over (
           partition by case lane when 'sandboxes' then null else provider end, lane
           order by priority, next_sync_at
         ) as place
       from (
         select distinct on (queue, team_id) *
         from (
           select of_lane.*, ${QUEUE} as queue
           from (
             select c.team_id, c.id, c.provider, c.next_sync_at, ${LANE} as lane,
               ${PRIORITY} as priority
             from crm_connection c
             where ${IS_WANTED}
               and ${IS_FREE}
               and ${which}
           ) of_lane
         ) of_queue
         order by queue, team_id, priority, next_sync_at
       ) first
     ) due
     where due.place <= case due.lane
${JOBS}
       end
     order by due.priority, due.next_sync_at`,
  );
}

const FIND = finding('all', 'true');
const FIND_OF_TEAM = finding('team', 'c.team_id = $3');

// A statement of its own: the rows of a team may be at another node than the jobs.
const ADD = statement(
  'crm.addSyncs',
  `select (
     graphile_worker.add_job(
       identifier => '${SYNC_CONNECTION}',
       payload => json_build_object('teamId', due.team_id, 'connectionId', due.id),
       queue_name => due.queue,
       max_attempts => 1,
       priority => due.priority,
       job_key => ${JOB_KEY},
       job_key_mode => 'preserve_run_at'
     )
   ).id
   from json_to_recordset($1) as due (team_id text, id text, queue text, priority int)`,
);

/** When something is due: now, and the time since which a round need not read everything. */
export interface DueTimes {
  readonly now: Date;
  readonly fullSince: Date;
}

/**
 * Enqueues a job for each connection that is due and that no run has, one for each team and queue.
 */
export async function enqueueDue(db: Db, { now, fullSince }: DueTimes): Promise<void> {
  await add(db, await db.query(FIND, [now, fullSince.toISOString()]));
}

/** The same for one team. */
export async function enqueueDueOf(
  db: Db,
  teamId: string,
  { now, fullSince }: DueTimes,
): Promise<void> {
  await add(db, await db.query(FIND_OF_TEAM, [now, fullSince.toISOString(), teamId]));
}

async function add(db: Db, due: readonly DueRow[]): Promise<void> {
  if (due.length > 0) await db.query(ADD, [JSON.stringify(due)]);
}
