/**
 * Hands the jobs that committed with a change to graphile-worker. `graphile_worker.add_jobs`
 * notifies, which no change may do in its own transaction (see `wake-ups.ts`), and it locks a job's
 * key, which several teams may share. Here both happen once for many jobs. A job is moved in one
 * transaction: it is never lost, and never added twice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { statement, type Db } from './client.ts';
import { groupByShard, knowsShards } from './shards.ts';

/** Moves jobs until `stop`. */
export interface JobIntake {
  /** Looks for jobs soon. */
  wake(): void;
  stop(): Promise<void>;
}

const POLL_MS = 500;
/**
 * Jobs wait so long for others. A change often has an event, too, whose delivery would be made at
 * the same moment: it goes first, because receivers notice a few milliseconds and mails do not.
 */
const GATHER_MS = 25;
const BATCH = 500;
const JOB_MAX_ATTEMPTS = 25;

/** Starts to move jobs: at each wake-up and every half second. Any number of workers may do so. */
export function startJobIntake(db: Db, onError: (error: unknown) => void): JobIntake {
  let isWanted = false;
  let moving: Promise<void> | null = null;
  const moveAll = async (): Promise<void> => {
    while (isWanted) {
      await delay(GATHER_MS);
      isWanted = false;
      try {
        if ((await movePendingJobs(db)) === BATCH) isWanted = true;
      } catch (error) {
        onError(error);
      }
    }
  };
  const wake = (): void => {
    isWanted = true;
    moving ??= moveAll().finally(() => {
      moving = null;
    });
  };
  const timer = setInterval(wake, POLL_MS);
  wake();
  return {
    wake,
    stop: async () => {
      clearInterval(timer);
      await moving;
    },
  };
}

/**
 * SQL: adds the jobs of `taken`. Of several jobs with one key only the last is added: the statement
 * of `add_jobs` cannot touch a row twice. Without jobs, `add_jobs` is not called, because it would
 * notify nevertheless.
 */
const ADDED = `jobs as (
     select distinct on (coalesce(key, team_id || ' ' || id))
       row(task, payload, queue, null, ${JOB_MAX_ATTEMPTS}, key, null, null)
         ::graphile_worker.job_spec as spec
     from taken
     order by coalesce(key, team_id || ' ' || id), id desc
   ), added as (
     select count(*)
     from (
       select array_agg(spec) as specs
       from jobs
     ) gathered
     cross join lateral graphile_worker.add_jobs(gathered.specs)
     where gathered.specs is not null
   )`;

const MOVE = statement<{ readonly moved: number }>(
  'jobs.move',
  `with taken as (
     delete from pending_job
     where ctid = any (array(
       select ctid
       from pending_job
       order by team_id, id
       limit ${BATCH}
       for update skip locked
     ))
     returning team_id, id, task, payload, key, queue
   ), ${ADDED}
   select count(*)::int as moved
   from taken
   cross join added`,
);

/** Moves up to a batch of jobs. Returns how many. */
export async function movePendingJobs(db: Db): Promise<number> {
  if (await knowsShards(db)) return moveFromShards(db);
  const [row] = await db.query(MOVE, []);
  return row?.moved ?? 0;
}

interface JobKey {
  readonly team_id: string;
  readonly id: string;
}

const FIND = statement<JobKey>(
  'jobs.findPending',
  `select team_id, id
   from pending_job
   order by team_id, id
   limit ${BATCH}`,
);
const TAKE = statement<JobKey>(
  'jobs.take',
  `delete from pending_job
   where team_id = any ($1::text[])
     and ctid = any (array(
       select ctid
       from pending_job
       where team_id = any ($1::text[])
         and id = any ($2::text[])
       for update skip locked
     ))
   returning team_id, id, task, payload, key, queue`,
);
const ADD = statement(
  'jobs.add',
  `with taken as (
     select *
     from json_to_recordset($1::json) as t (
       team_id text, id text, task text, payload json, key text, queue text
     )
   ), ${ADDED}
   select count(*)::int as moved
   from taken
   cross join added`,
);

/**
 * The same on a distributed database, whose shards hold the jobs of their teams: they are found in
 * all shards, taken from each, and added at the coordinator, in one transaction.
 */
async function moveFromShards(db: Db): Promise<number> {
  const found = await db.query(FIND, []);
  if (found.length === 0) return 0;
  const groups = await groupByShard(
    db,
    found.map(({ team_id }) => team_id),
  );
  return db.transaction(async (tx) => {
    const taken: JobKey[] = [];
    for (const teams of groups) {
      const own = found.filter(({ team_id }) => teams.includes(team_id));
      taken.push(...(await tx.query(TAKE, [teams, own.map(({ id }) => id)])));
    }
    // Another worker may have been faster.
    if (taken.length > 0) await tx.query(ADD, [JSON.stringify(taken)]);
    return taken.length;
  });
}
