/**
 * Hands the jobs that committed with a change to graphile-worker. `graphile_worker.add_jobs`
 * notifies, which no change may do in its own transaction (see `wake-ups.ts`), and it locks a job's
 * key, which several teams may share. Here both happen once for many jobs. A job is moved in one
 * transaction: it is never lost, and never added twice.
 */
import { statement, type Db } from './client.ts';

/** Moves jobs until `stop`. */
export interface JobIntake {
  /** Looks for jobs at once. */
  wake(): void;
  stop(): Promise<void>;
}

const POLL_MS = 500;
const BATCH = 500;
const JOB_MAX_ATTEMPTS = 25;

/** Starts to move jobs: at each wake-up and every half second. Any number of workers may do so. */
export function startJobIntake(db: Db, onError: (error: unknown) => void): JobIntake {
  let isWanted = false;
  let moving: Promise<void> | null = null;
  const moveAll = async (): Promise<void> => {
    while (isWanted) {
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

// Of several jobs with one key only the last is added: the statement of `add_jobs` cannot touch a
// row twice. Without jobs, `add_jobs` is not called, because it would notify nevertheless.
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
   ), jobs as (
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
   )
   select count(*)::int as moved
   from taken
   cross join added`,
);

/** Moves up to a batch of jobs. Returns how many. */
export async function movePendingJobs(db: Db): Promise<number> {
  const [row] = await db.query(MOVE, []);
  return row?.moved ?? 0;
}
