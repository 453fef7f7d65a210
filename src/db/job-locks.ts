import { createHash } from 'node:crypto';
import { statement, type Db } from './client.ts';
import { holdSessionLock } from './session-lock.ts';

/**
 * graphile-worker gives a job back four hours after it was locked, whatever became of who locked it. Two things that happen in an ordinary life leave such jobs:
 *
 *  * A worker is killed. So each pool holds an advisory lock by a session of its own, and every worker looks at times for jobs whose pool has none, and
 *    gives them back.
 *  * The database goes away between locking a job and telling who asked for it. So a pool looks for jobs that are its own and that it does not know of.
 *
 * Both wait a while before they believe what they see: a living pool that lost its session takes the lock again at its next look, and a job that has just ended is
 * written down soon. Too early would be a job done twice; too late is a mail that comes some seconds later.
 */
export interface JobLocks {
  /** Lets the lock go. What this pool still has locked will then be given back by others. */
  close(): Promise<void>;
}

export interface JobLocksOptions {
  readonly db: Db;
  readonly databaseUrl: string;
  /** Of graphile-worker's pool: what it writes to `locked_by`. */
  readonly poolId: string;
  /** Whether the pool is at work on the job. */
  readonly isInHand: (jobId: string) => boolean;
  /** The jobs of these pools were given back. */
  readonly onReleased: (poolIds: readonly string[]) => void;
  /** The pool has jobs that it does not know of. Only its end gives them back. */
  readonly onForgotten: (jobIds: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
}

const LOCK_CLASS = 0x6a6f62;
const LOOK_EVERY_MS = 2_000;
const BELIEVED_AFTER_MS = 8_000;

/** Never rejects: without a database it looks again later. */
export async function keepJobLocks(options: JobLocksOptions): Promise<JobLocks> {
  const { db, poolId } = options;
  const lock = await holdSessionLock(options.databaseUrl, LOCK_CLASS, lockNumber(poolId));
  const deadPools = createPatience();
  const ownJobs = createPatience();
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    try {
      if (!(await lock.isHeld())) throw new Error('the lock of the job runner could not be taken');
      const pools = deadPools.see((await db.query(FIND_DEAD, [])).map((row) => row.pool_id));
      if (pools.length > 0) {
        await db.query(UNLOCK, [pools]);
        options.onReleased(pools);
      }
      const own = await db.query(FIND_OWN, [poolId]);
      const forgotten = ownJobs.see(own.map((row) => row.id).filter((id) => !options.isInHand(id)));
      if (forgotten.length > 0) options.onForgotten(forgotten);
    } catch (error) {
      // Others could not show that they live either: the wait begins anew.
      deadPools.see([]);
      ownJobs.see([]);
      options.onError(error);
    }
  };
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, LOOK_EVERY_MS);

  return {
    close: async () => {
      clearInterval(timer);
      await looking;
      await lock.close();
    },
  };
}

/** Tells what has been seen at every look for so long that it is to be believed. */
function createPatience(): { see(seen: readonly string[]): string[] } {
  let since = new Map<string, number>();
  return {
    see: (seen) => {
      const now = performance.now();
      since = new Map(seen.map((id) => [id, since.get(id) ?? now]));
      return [...since].flatMap(([id, first]) => (now - first >= BELIEVED_AFTER_MS ? [id] : []));
    },
  };
}

/** The same as in `FIND_DEAD`. Should two pools have one number, the jobs of one that died wait until the other one ends. */
function lockNumber(poolId: string): number {
  return createHash('md5').update(poolId).digest().readUInt32BE() & 0x7fffffff;
}

const FIND_DEAD = statement<{ readonly pool_id: string }>(
  'jobs.findDead',
  `select j.locked_by as pool_id from (select distinct locked_by from graphile_worker.jobs where locked_by is not null) j
   where not exists (select from pg_locks k where k.locktype = 'advisory' and k.classid = ${LOCK_CLASS} and k.objsubid = 2
     and k.objid = (('x' || left(md5(j.locked_by), 8))::bit(32)::int & 2147483647)::oid
     and k.database = (select oid from pg_database where datname = current_database()))`,
);

const FIND_OWN = statement<{ readonly id: string }>(
  'jobs.findOwn',
  'select id::text from graphile_worker.jobs where locked_by = $1',
);

const UNLOCK = statement('jobs.unlock', 'select graphile_worker.force_unlock_workers($1::text[])');
