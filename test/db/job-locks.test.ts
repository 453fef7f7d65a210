// When the jobs of a worker's pool are given back, with real locks and jobs and the test's clock.
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { holdSessionLock } from '../../src/db/connections/session-lock.ts';
import { keepJobLocks, releaseJobs, type JobLocks } from '../../src/db/jobs/job-locks.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { recordSignals, type RecordedSignals } from '../support/signals.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

interface Pool {
  readonly locks: JobLocks;
  readonly signals: RecordedSignals<'polled'>;
  /** What it gave back, oldest first. */
  readonly released: string[];
  /** What it reported because it is locked by the pool but unknown to it. */
  readonly forgotten: string[];
  readonly errors: unknown[];
}

/** The time between two polls. */
const POLL_MS = 2_000;

const heldLocks = (database: string): string =>
  `select pid from pg_locks where locktype = 'advisory'
   and database = (select oid from pg_database where datname = ${database})`;
const HELD_LOCKS = heldLocks('current_database()');

let database: TestDatabase;
let client: Client;
let db: Database;
let clock: ReturnType<typeof steppedClock>;
let pools: Map<string, Pool>;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  db = openTestDatabase({ url: database.url, poolMax: 4 });
  return async () => {
    await db.close();
    await client.end();
    await database.drop();
  };
});

beforeEach(async () => {
  // What the test before has closed may take a moment to end.
  await until(async () => (await client.query(HELD_LOCKS)).rowCount === 0);
  await client.query('delete from graphile_worker._private_jobs');
  await client.query('delete from graphile_worker._private_job_queues');
  pools = new Map();
  clock = steppedClock(new Date());
});

afterEach(async () => {
  for (const { locks } of pools.values()) await locks.close();
});

/** Adds a job that the pool has locked. */
async function lockJob(poolId: string): Promise<string> {
  const { rows } = await client.query(
    `select id::text from graphile_worker.add_job('send_invitation', '{}')`,
  );
  const lock = `update graphile_worker._private_jobs set locked_by = $1, locked_at = now()
    where id = $2`;
  await client.query(lock, [poolId, rows[0].id]);
  return rows[0].id;
}

/** Starts a pool that works on one job only. Its lock is in the database at `databaseUrl`. */
async function startPool(id: string, databaseUrl = database.url): Promise<Pool> {
  const inHand = await lockJob(id);
  const signals = recordSignals<'polled'>();
  const pool: Omit<Pool, 'locks'> = { signals, released: [], forgotten: [], errors: [] };
  const locks = await keepJobLocks({
    db,
    databaseUrl,
    poolId: id,
    clock,
    signals: signals.signal,
    isInHand: (held) => held === `job ${inHand}`,
    onReleased: (poolIds) => pool.released.push(...poolIds),
    onForgotten: (held) => pool.forgotten.push(...held),
    onError: (error) => pool.errors.push(error),
  });
  const started: Pool = Object.assign(pool, { locks });
  pools.set(id, started);
  return started;
}

/** Ends a pool as a crash does: its session lock is released, but its jobs stay locked. */
async function stopPool(id: string): Promise<void> {
  await pools.get(id)?.locks.close();
  pools.delete(id);
  await until(async () => (await client.query(HELD_LOCKS)).rowCount === pools.size);
}

/** Advances the clock by this many polls, and waits until each pool has made them. */
async function poll(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const polled = [...pools.values()].map(({ signals }) => signals.next('polled'));
    clock.advance(POLL_MS);
    await Promise.all(polled);
  }
}

async function isLocked(jobId: string): Promise<boolean> {
  const { rows } = await client.query(
    `select locked_by is not null as locked from graphile_worker.jobs where id = $1`,
    [jobId],
  );
  return rows[0].locked;
}

/** Makes this many polls fail, as when the database cannot be reached. */
async function failPolls(times: number): Promise<void> {
  await client.query('alter view graphile_worker.jobs rename to jobs_away');
  await poll(times);
  await client.query('alter view graphile_worker.jobs_away rename to jobs');
}

test('a job that was asked for again while it ran is complete once its pool is dead', async () => {
  const add = () =>
    client.query(
      `select id::text
       from graphile_worker.add_job('erase_teams', '{}', job_key := 'erase', max_attempts := 25)`,
    );
  const first = (await add()).rows[0].id;
  await client.query(
    `update graphile_worker._private_jobs set locked_by = 'gone', locked_at = now(), attempts = 1
     where id = $1`,
    [first],
  );
  const second = (await add()).rows[0].id;
  const kept = await lockJob('gone');
  await releaseJobs(db, ['gone']);
  const { rows } = await client.query(
    `select id::text, key, locked_by, attempts < max_attempts as is_left
     from graphile_worker.jobs
     order by id`,
  );
  expect(rows).toEqual([
    { id: second, key: 'erase', locked_by: null, is_left: true },
    { id: kept, key: null, locked_by: null, is_left: true },
  ]);
});

describe('the jobs of a pool that has ended', () => {
  test('are given back once its lock has been missing for eight seconds, not before', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('gone');
    await poll(4);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
    await poll(1);
    expect(pool.released).toEqual(['gone']);
    expect(await isLocked(job)).toBe(false);
    await poll(5);
    expect(pool.released).toEqual(['gone']);
  });

  // After a failover, the session of the lock may still be at the former primary.
  test('are not taken from a pool by itself, if the database does not know its lock', async () => {
    const elsewhere = await createTestDatabase();
    onTestFinished(() => elsewhere.drop());
    const pool = await startPool('apart', elsewhere.url);
    const heldThere = heldLocks(`'${new URL(elsewhere.url).pathname.slice(1)}'`);
    for (let n = 0; n < 6; n += 1) {
      await poll(1);
      // Between two polls there is time for the server to end the session that the pool gave up.
      await until(async () => (await client.query(heldThere)).rowCount === 0);
    }
    expect(pool.released).toEqual([]);
    expect(new Set(pool.errors.map(String))).toEqual(
      new Set(['Error: the lock of the job runner is at another node than the database']),
    );
  });

  test('are left alone if its lock was missing in one poll only', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('other');
    await poll(1);
    await startPool('other');
    await poll(6);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
  });

  test('are only given back eight seconds after the last time the pool was seen', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('other');
    await poll(4);
    await startPool('other');
    await poll(1);
    await stopPool('other');
    await poll(4);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
    await poll(1);
    expect(pool.released).toEqual(['other']);
    expect(await isLocked(job)).toBe(false);
  });

  test('are only given back eight seconds after the last failed poll', async () => {
    const pool = await startPool('alive');
    await lockJob('gone');
    await poll(4);
    // Others could not show either that they live.
    await failPolls(1);
    expect(pool.errors).toHaveLength(1);
    await poll(4);
    expect(pool.released).toEqual([]);
    await poll(1);
    expect(pool.released).toEqual(['gone']);
  });
});

test('the jobs of a living pool are left alone, even after it lost its session', async () => {
  const [one, other] = [await startPool('one'), await startPool('other')];
  await poll(6);
  await client.query(`select pg_terminate_backend(pid) from (${HELD_LOCKS}) holders`);
  await poll(10);
  expect([one.released, other.released]).toEqual([[], []]);
  const { rows } = await client.query('select locked_by from graphile_worker.jobs order by 1');
  expect(rows).toEqual([{ locked_by: 'one' }, { locked_by: 'other' }]);
});

describe('a job that a pool has locked but does not know', () => {
  test('is reported after eight seconds, not before; the jobs it works on never are', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await poll(4);
    expect(pool.forgotten).toEqual([]);
    await poll(1);
    expect(pool.forgotten).toEqual([`job ${job}`]);
    expect(pool.released).toEqual([]);
  });

  test('is not reported if it ends before that', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await poll(4);
    await client.query('delete from graphile_worker._private_jobs where id = $1', [job]);
    await poll(6);
    expect(pool.forgotten).toEqual([]);
  });

  test('is only reported eight seconds after the last failed poll', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await poll(4);
    await failPolls(1);
    await poll(4);
    expect(pool.forgotten).toEqual([]);
    await poll(1);
    expect(pool.forgotten).toEqual([`job ${job}`]);
  });
});

// The other pool has written the end of a job that this one was running.
describe('a queue that stayed locked without a job', () => {
  const lockQueue = async (poolId: string): Promise<string> => {
    const { rows } = await client.query(
      `insert into graphile_worker._private_job_queues (queue_name, locked_at, locked_by)
       values ('removals', now(), $1)
       returning id::text`,
      [poolId],
    );
    return rows[0].id;
  };

  test('is given back once its pool has ended', async () => {
    const pool = await startPool('alive');
    await lockQueue('gone');
    await poll(5);
    expect(pool.released).toEqual(['gone']);
    const { rows } = await client.query(
      'select locked_by from graphile_worker._private_job_queues',
    );
    expect(rows).toEqual([{ locked_by: null }]);
  });

  test('is reported by its pool', async () => {
    const pool = await startPool('alive');
    const queue = await lockQueue('alive');
    await poll(5);
    expect(pool.forgotten).toEqual([`queue ${queue}`]);
  });
});

describe('a session lock', () => {
  const LOCK_CLASS = 7;

  test('is given up at once although the database has fallen silent', async () => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    const lock = await holdSessionLock(proxy.url, LOCK_CLASS);
    expect(await lock.isHeld()).toBe(true);
    proxy.fallSilent();
    // It would wait for ever for an answer.
    await lock.close();
  });

  const sessions = async (): Promise<number> => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity
       where datname = current_database() and query like '%pg_try_advisory_lock%'
         and pid <> pg_backend_pid()`,
    );
    return rowCount ?? 0;
  };

  test('outlasts the time after which the database ends idle sessions', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await client.query(`alter database "${name}" set idle_session_timeout = '100ms'`);
    onTestFinished(async () => {
      await client.query(`alter database "${name}" reset idle_session_timeout`);
    });
    const lock = await holdSessionLock(database.url, LOCK_CLASS);
    onTestFinished(() => lock.close());
    const idle = new Client({ connectionString: database.url });
    idle.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => idle.on('end', resolve));
    await idle.connect();
    await ended;
    expect((await client.query(HELD_LOCKS)).rowCount).toBe(1);
  });

  test('says something now and then, so that no balancer takes it for dead', async () => {
    const lock = await holdSessionLock(database.url, LOCK_CLASS, 1, clock);
    onTestFinished(() => lock.close());
    const said = async (): Promise<string> => {
      const { rows } = await client.query(
        `select state_change::text from pg_stat_activity where pid = (${HELD_LOCKS})`,
      );
      return rows[0].state_change;
    };
    const first = await said();
    await lock.isHeld();
    expect(await said()).toBe(first);
    clock.advance(20 * 60_000);
    await lock.isHeld();
    await until(async () => (await said()) !== first);
    const second = await said();
    await lock.isHeld();
    expect(await said()).toBe(second);
  });

  test('that is closed while it is taken again is not taken', async () => {
    const lock = await holdSessionLock(database.url, LOCK_CLASS);
    await client.query(`select pg_terminate_backend(pid) from (${HELD_LOCKS}) held`);
    await until(async () => (await sessions()) === 0);
    // The session learns of its end a little later.
    const taking = await until(async () => {
      const again = lock.isHeld();
      const turn = new Promise<boolean>((done) => setImmediate(done, false));
      return (await Promise.race([again, turn])) ? null : { again };
    });
    await lock.close();
    expect(await taking.again).toBe(false);
    expect(await lock.isHeld()).toBe(false);
    await until(async () => (await sessions()) === 0);
  });

  test('that another one has keeps no session', async () => {
    const lock = await holdSessionLock(database.url, LOCK_CLASS, 1);
    const refused = await holdSessionLock(database.url, LOCK_CLASS, 1);
    expect(await refused.isHeld()).toBe(false);
    await until(async () => (await sessions()) === 1);
    await lock.close();
  });
});
