import { createHash } from 'node:crypto';
import { statement, type Db } from './client.ts';
import { holdSessionLock } from './session-lock.ts';

/**
 * graphile-worker leaves the jobs of a worker that was killed locked for four hours. So each of its pools holds an advisory lock by a session of its own, and every
 * worker looks at times for jobs whose pool has none, and gives them back. It waits a while before it believes that: a living pool that lost its session (a
 * restart of the database) takes the lock again at its own next look. Too early would be a job done twice; too late is a mail that comes some seconds later.
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
  readonly onReleased: (poolIds: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
}

const LOCK_CLASS = 0x6a6f62;
const LOOK_EVERY_MS = 2_000;
const MISSING_MS = 8_000;

export async function keepJobLocks({
  db,
  databaseUrl,
  poolId,
  onReleased,
  onError,
}: JobLocksOptions): Promise<JobLocks> {
  const lock = await holdSessionLock(databaseUrl, LOCK_CLASS, lockNumber(poolId));
  let missingSince = new Map<string, number>();
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    if (!(await lock.isHeld())) return;
    const now = performance.now();
    const missing = await db.query(FIND_DEAD, []);
    missingSince = new Map(missing.map(({ pool_id: id }) => [id, missingSince.get(id) ?? now]));
    const dead = [...missingSince].flatMap(([id, since]) => (now - since >= MISSING_MS ? [id] : []));
    if (dead.length === 0) return;
    await db.query(UNLOCK, [dead]);
    onReleased(dead);
  };
  const timer = setInterval(() => {
    looking ??= look()
      .catch(onError)
      .finally(() => {
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

/** The same as in `FIND_DEAD`. Two pools of one number would keep each other's jobs locked once both are dead; until then they do no harm. */
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

const UNLOCK = statement('jobs.unlock', 'select graphile_worker.force_unlock_workers($1::text[])');
