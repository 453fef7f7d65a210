import { createHash } from 'node:crypto';
import { systemClock, type Clock } from '../../core/clock.ts';
import type { Signals } from '../../core/signals.ts';
import { statement, type Db } from '../client.ts';
import { holdSessionLock } from '../connections/session-lock.ts';

/**
 * Releases jobs that no worker runs any more. By itself, graphile-worker releases a job four hours
 * after it was locked. Two ordinary failures leave locked jobs behind:
 *
 *  * A worker is killed. For this case each worker pool holds an advisory lock in a session of its
 *    own. Every worker polls for locked jobs whose pool has no such lock, and releases them.
 *  * The connection breaks after the database has locked a job and before the pool learns of it.
 *    For this case a pool polls for jobs that are locked in its name but that it does not run.
 *
 * A queue stays locked without a job if a pool whose machine stood still writes the end of a job
 * that another one runs by then. So both look at queues, too.
 *
 * Both act only on what every poll has shown for `CONFIRMED_AFTER_MS`. A live pool that lost its
 * session takes the lock again at its next poll, and the end of a job is written to the database
 * soon after the job. Acting too early would run a job twice; acting late only delays a mail by
 * some seconds.
 */
export interface JobLocks {
  /** Gives up the advisory lock. Other workers then release the jobs that this pool has locked. */
  close(): Promise<void>;
}

/** A job or a queue, with its id in graphile-worker's tables. */
export type Held = `job ${string}` | `queue ${string}`;

export interface JobLocksOptions {
  readonly db: Db;
  readonly databaseUrl: string;
  /** The id of graphile-worker's pool, which it writes to `locked_by`. */
  readonly poolId: string;
  /** Whether the pool runs the job, or a job of the queue. */
  readonly isInHand: (held: Held) => boolean;
  /** Called after the jobs of these pools were released. */
  readonly onReleased: (poolIds: readonly string[]) => void;
  /** Called when the pool has locked what it does not run. Only its end releases that. */
  readonly onForgotten: (held: readonly Held[]) => void;
  readonly onError: (error: unknown) => void;
  readonly clock?: Pick<Clock, 'every' | 'monotonicMs'>;
  /** Told after each poll. */
  readonly signals?: Signals<'polled'>;
}

/** The first number of our advisory locks; spells "job". The second one is the number of a pool. */
const LOCK_CLASS = 0x6a6f62;
const POLL_INTERVAL_MS = 2_000;
const CONFIRMED_AFTER_MS = 8_000;

/** Takes the lock of the pool and starts polling. Never rejects: without a database it retries. */
export async function keepJobLocks(options: JobLocksOptions): Promise<JobLocks> {
  const { db, databaseUrl, poolId, clock = systemClock } = options;
  const lock = await holdSessionLock(databaseUrl, LOCK_CLASS, lockNumber(poolId), clock);
  const deadPools = createConfirmation<string>(clock);
  const forgotten = createConfirmation<Held>(clock);
  let polling: Promise<void> | null = null;

  const poll = async (): Promise<void> => {
    try {
      if (!(await lock.isHeld()))
        throw new Error('could not take the lock of the job runner', { cause: lock.fault() });
      const dead = (await db.query(FIND_DEAD, [])).map((row) => row.pool_id);
      if (dead.includes(poolId)) {
        lock.renew();
        throw new Error('the lock of the job runner is at another node than the database');
      }
      const pools = deadPools.confirm(dead);
      if (pools.length > 0) {
        await releaseJobs(db, pools);
        options.onReleased(pools);
      }
      const own = (await db.query(FIND_OWN, [poolId])).map(({ held }) => held);
      const confirmed = forgotten.confirm(own.filter((held) => !options.isInHand(held)));
      if (confirmed.length > 0) options.onForgotten(confirmed);
    } catch (error) {
      // Without a database, live pools could not hold their locks either. Start the wait again.
      deadPools.confirm([]);
      forgotten.confirm([]);
      options.onError(error);
    }
  };
  const stopTimer = clock.every(POLL_INTERVAL_MS, () => {
    polling ??= poll().finally(() => {
      polling = null;
      options.signals?.('polled');
    });
  });

  return {
    close: async () => {
      stopTimer();
      await polling;
      await lock.close();
    },
  };
}

/**
 * Releases all that these pools of graphile-worker have locked. Any worker may run the jobs.
 * Completes those that were asked for again while they ran: another job has taken their place and
 * their key, and they would count as failed for the last time.
 */
export async function releaseJobs(db: Db, poolIds: readonly string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const replaced = await tx.query(FIND_REPLACED, [poolIds]);
    await tx.query(UNLOCK, [poolIds]);
    await tx.query(COMPLETE, [replaced.map(({ id }) => id)]);
  });
}

/** `confirm` returns the ids seen in every poll for at least `CONFIRMED_AFTER_MS`. */
function createConfirmation<Id>(clock: Pick<Clock, 'monotonicMs'>): {
  confirm(seen: readonly Id[]): Id[];
} {
  let firstSeen = new Map<Id, number>();
  return {
    confirm: (seen) => {
      const now = clock.monotonicMs();
      firstSeen = new Map(seen.map((id) => [id, firstSeen.get(id) ?? now]));
      return [...firstSeen].flatMap(([id, at]) => (now - at >= CONFIRMED_AFTER_MS ? [id] : []));
    },
  };
}

/**
 * Returns the number of a pool's advisory lock; `FIND_DEAD` computes the same in SQL. If a dead and
 * a live pool have the same number, the dead pool's jobs wait until the live one ends.
 */
function lockNumber(poolId: string): number {
  return createHash('md5').update(poolId).digest().readUInt32BE() & 0x7fffffff;
}

/** The pools of graphile-worker that have locked jobs or queues, and have no lock. */
export const FIND_DEAD = statement<{ readonly pool_id: string }>(
  'jobs.findDead',
  `select j.locked_by as pool_id
   from (
     select locked_by
     from graphile_worker.jobs
     where locked_by is not null
     union
     select locked_by
     from graphile_worker._private_job_queues
     where locked_by is not null
   ) j
   where not exists (
     select
     from pg_locks k
     where k.locktype = 'advisory'
       and k.classid = ${LOCK_CLASS}
       and k.objsubid = 2
       and k.objid = (('x' || left(md5(j.locked_by), 8))::bit(32)::int & 2147483647)::oid
       and k.database = (select oid from pg_database where datname = current_database())
   )`,
);

const FIND_OWN = statement<{ readonly held: Held }>(
  'jobs.findOwn',
  `select 'job ' || id as held
   from graphile_worker.jobs
   where locked_by = $1
   union all
   select 'queue ' || id
   from graphile_worker._private_job_queues
   where locked_by = $1`,
);

// graphile-worker uses up the attempts of a running job when its key is given to another one. A job
// that has used them up by failing has an error.
const FIND_REPLACED = statement<{ readonly id: string }>(
  'jobs.findReplaced',
  `select id::text
   from graphile_worker.jobs
   where locked_by = any ($1::text[])
     and key is null
     and attempts >= max_attempts
     and max_attempts > 1
     and last_error is null`,
);

const COMPLETE = statement(
  'jobs.complete',
  'select from graphile_worker.complete_jobs($1::bigint[])',
);

const UNLOCK = statement('jobs.unlock', 'select graphile_worker.force_unlock_workers($1::text[])');
