/**
 * Hands the jobs that committed with a change to graphile-worker. `graphile_worker.add_jobs`
 * notifies, which no change may do in its own transaction (see `wake-ups.ts`), and it locks a job's
 * key, which several teams may share. Here both happen once for many jobs. A job is moved in one
 * transaction: it is never lost, and never added twice.
 *
 * A job that graphile-worker refuses (a key that is too long, for instance) would hold up all that
 * are handed over with it. It is found by halves and set aside: it stays in `pending_job` with the
 * time in `refused_at`, so it counts as waiting, and each hour it is tried again.
 */
import { systemClock, type Clock } from '../../core/clock.ts';
import type { Signals } from '../../core/signals.ts';
import { writeByHalves } from '../by-halves.ts';
import { groupByShard, knowsShards } from '../citus/shards.ts';
import { statement, type Db } from '../client.ts';
import { isValueRefused } from '../errors.ts';
import type { RowOf } from '../rows.ts';

/** Moves jobs until `stop`. */
export interface JobIntake {
  /** Looks for jobs soon. */
  wake(): void;
  /** Resolves after the batch that is being moved. Other workers move the rest. */
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

export interface IntakeOptions {
  /** Called when jobs could not be moved. They are moved later. */
  readonly onError: (error: unknown) => void;
  /** Called when graphile-worker has refused a job. */
  readonly onRefused: OnRefused;
  readonly clock?: Pick<Clock, 'every' | 'wait'>;
  /** Told after each batch. */
  readonly signals?: Signals<'moved'>;
}

type OnRefused = (job: PendingJob, error: unknown) => void;

/** Starts to move jobs: at each wake-up and every half second. Any number of workers may do so. */
export function startJobIntake(
  db: Db,
  { onError, onRefused, clock = systemClock, signals }: IntakeOptions,
): JobIntake {
  let isWanted = false;
  let isStopped = false;
  let moving: Promise<void> | null = null;
  const moveAll = async (): Promise<void> => {
    while (isWanted && !isStopped) {
      await clock.wait(GATHER_MS);
      isWanted = false;
      try {
        if ((await movePendingJobs(db, onRefused)) === BATCH) isWanted = true;
      } catch (error) {
        onError(error);
      }
      signals?.('moved');
    }
  };
  const wake = (): void => {
    isWanted = true;
    moving ??= moveAll().finally(() => {
      moving = null;
    });
  };
  const stopTimer = clock.every(POLL_MS, wake);
  wake();
  return {
    wake,
    stop: async () => {
      isStopped = true;
      stopTimer();
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
       row(task, payload, queue, run_at, ${JOB_MAX_ATTEMPTS}, key, priority, null)
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

const IS_WAITING = `(refused_at is null or refused_at < now() - interval '1 hour')`;

const MOVE = statement<{ readonly moved: number }>(
  'jobs.move',
  `with taken as (
     delete from pending_job
     where ctid = any (array(
       select ctid
       from pending_job
       where ${IS_WAITING}
       order by team_id, id
       limit ${BATCH}
       for update skip locked
     ))
     returning team_id, id, task, payload, key, queue, run_at, priority
   ), ${ADDED}
   select count(*)::int as moved
   from taken
   cross join added`,
);

/** Moves up to a batch of jobs. Returns how many. Rejects if `onRefused` throws. */
export async function movePendingJobs(
  db: Db,
  onRefused: OnRefused = (_job, error) => {
    throw error;
  },
): Promise<number> {
  try {
    if (await knowsShards(db)) return await moveThese(db, await db.query(FIND, []));
    const [row] = await db.query(MOVE, []);
    return row?.moved ?? 0;
  } catch (error) {
    if (!isValueRefused(error)) throw error;
  }
  let moved = 0;
  await writeByHalves(await db.query(FIND, []), {
    write: async (jobs) => {
      moved += await moveThese(db, jobs);
    },
    onRefused: async (job, error) => {
      await db.query(SET_ASIDE, [job.team_id, job.id]);
      onRefused(job, error);
    },
  });
  return moved;
}

const SET_ASIDE = statement(
  'jobs.setAside',
  `update pending_job
   set refused_at = now()
   where team_id = $1 and id = $2`,
);

/** A job that waits to be moved. */
export type PendingJob = RowOf<'PendingJob', 'team_id' | 'id' | 'task'>;

const FIND = statement<PendingJob>(
  'jobs.findPending',
  `select team_id, id, task
   from pending_job
   where ${IS_WAITING}
   order by team_id, id
   limit ${BATCH}`,
);
const TAKE = statement<
  PendingJob & RowOf<'PendingJob', 'payload' | 'key' | 'queue' | 'run_at' | 'priority'>
>(
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
   returning team_id, id, task, payload, key, queue, run_at, priority`,
);
const ADD = statement(
  'jobs.add',
  `with taken as (
     select *
     from json_to_recordset($1::json) as t (
       team_id text, id text, task text, payload json, key text, queue text,
       run_at timestamptz, priority integer
     )
   ), ${ADDED}
   select count(*)::int as moved
   from taken
   cross join added`,
);

/**
 * Moves these jobs in one transaction. The shards of a distributed database hold the jobs of their
 * teams: they are taken from each, and added at the coordinator.
 */
async function moveThese(db: Db, found: readonly PendingJob[]): Promise<number> {
  if (found.length === 0) return 0;
  const teams = found.map(({ team_id }) => team_id);
  const groups = (await knowsShards(db)) ? await groupByShard(db, teams) : [teams];
  return db.transaction(async (tx) => {
    const taken: PendingJob[] = [];
    for (const teams of groups) {
      const own = found.filter(({ team_id }) => teams.includes(team_id));
      taken.push(...(await tx.query(TAKE, [teams, own.map(({ id }) => id)])));
    }
    // Another worker may have been faster.
    if (taken.length > 0) await tx.query(ADD, [JSON.stringify(taken)]);
    return taken.length;
  });
}
