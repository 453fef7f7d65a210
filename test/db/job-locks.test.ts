// When the jobs of a pool are given back: real locks and real jobs, on the clock of the test.
import { setImmediate as turn } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDatabase, type Database } from '../../src/db/client.ts';
import { keepJobLocks, type JobLocks } from '../../src/db/job-locks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

interface Pool {
  readonly locks: JobLocks;
  /** How often it has looked. */
  looks: number;
  /** What it gave back, in turn. */
  readonly released: string[];
  /** The jobs of its own that it reported as unknown to it. */
  readonly forgotten: string[];
  readonly errors: unknown[];
}

/** The time between two looks. */
const LOOK_MS = 2_000;

const HELD_LOCKS = `select pid from pg_locks where locktype = 'advisory'
  and database = (select oid from pg_database where datname = current_database())`;

let database: TestDatabase;
let client: Client;
let db: Database;
let pools: Map<string, Pool>;

beforeEach(async () => {
  pools = new Map();
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  db = openDatabase({ url: database.url, poolMax: 4, onError: () => undefined });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});

afterEach(async () => {
  vi.useRealTimers();
  for (const { locks } of pools.values()) await locks.close();
  await db.close();
  await client.end();
  await database.drop();
});

/** A job that the pool has locked. */
async function lockJob(poolId: string): Promise<string> {
  const { rows } = await client.query(
    `select id::text from graphile_worker.add_job('send_invitation', '{}')`,
  );
  const lock = `update graphile_worker._private_jobs set locked_by = $1, locked_at = now()
    where id = $2`;
  await client.query(lock, [poolId, rows[0].id]);
  return rows[0].id;
}

/** A pool that lives, and is at work on one job and on nothing else. */
async function startPool(id: string): Promise<Pool> {
  const inHand = await lockJob(id);
  const pool: Omit<Pool, 'locks'> = { looks: 0, released: [], forgotten: [], errors: [] };
  const locks = await keepJobLocks({
    db,
    databaseUrl: database.url,
    poolId: id,
    isInHand: (jobId) => {
      if (jobId === inHand) started.looks += 1;
      return jobId === inHand;
    },
    onReleased: (poolIds) => pool.released.push(...poolIds),
    onForgotten: (jobIds) => pool.forgotten.push(...jobIds),
    onError: (error) => {
      pool.errors.push(error);
      started.looks += 1;
    },
  });
  const started: Pool = Object.assign(pool, { locks });
  pools.set(id, started);
  return started;
}

/** As a pool ends, however it does: its lock goes, and what it has locked stays so. */
async function stopPool(id: string): Promise<void> {
  await pools.get(id)?.locks.close();
  pools.delete(id);
  while ((await client.query(HELD_LOCKS)).rowCount !== pools.size) await turn();
}

/** Lets so many looks pass, each in its time. */
async function look(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const before = [...pools.values()].map((pool) => ({ pool, looks: pool.looks }));
    vi.advanceTimersByTime(LOOK_MS);
    while (before.some(({ pool, looks }) => pool.looks === looks)) await turn();
    await turn();
  }
}

async function isLocked(jobId: string): Promise<boolean> {
  const { rows } = await client.query(
    `select locked_by is not null as locked from graphile_worker.jobs where id = $1`,
    [jobId],
  );
  return rows[0].locked;
}

/** So many looks that fail, as when the database is away. */
async function failLooks(times: number): Promise<void> {
  await client.query('alter view graphile_worker.jobs rename to jobs_away');
  await look(times);
  await client.query('alter view graphile_worker.jobs_away rename to jobs');
}

describe('the jobs of a pool that is gone', () => {
  test('are given back once its lock has been missing for eight seconds, not before', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('gone');
    await look(4);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
    await look(1);
    expect(pool.released).toEqual(['gone']);
    expect(await isLocked(job)).toBe(false);
    await look(5);
    expect(pool.released).toEqual(['gone']);
  });

  test('are left alone when it was missing at one look only', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('other');
    await look(1);
    await startPool('other');
    await look(6);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
  });

  test('wait for the whole time again after the pool came back meanwhile', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('other');
    await look(4);
    await startPool('other');
    await look(1);
    await stopPool('other');
    await look(4);
    expect(pool.released).toEqual([]);
    expect(await isLocked(job)).toBe(true);
    await look(1);
    expect(pool.released).toEqual(['other']);
    expect(await isLocked(job)).toBe(false);
  });

  test('wait for the whole time again after a look that failed', async () => {
    const pool = await startPool('alive');
    await lockJob('gone');
    await look(4);
    // Others could not show either that they live.
    await failLooks(1);
    expect(pool.errors).toHaveLength(1);
    await look(4);
    expect(pool.released).toEqual([]);
    await look(1);
    expect(pool.released).toEqual(['gone']);
  });
});

test('the jobs of a pool that lives are left alone, also after it lost its session', async () => {
  const [one, other] = [await startPool('one'), await startPool('other')];
  await look(6);
  await client.query(`select pg_terminate_backend(pid) from (${HELD_LOCKS}) holders`);
  await look(10);
  expect([one.released, other.released]).toEqual([[], []]);
  const { rows } = await client.query('select locked_by from graphile_worker.jobs order by 1');
  expect(rows).toEqual([{ locked_by: 'one' }, { locked_by: 'other' }]);
});

describe('a job of its own that a pool does not know of', () => {
  test('is reported after eight seconds, not before; what the pool works on never is', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await look(4);
    expect(pool.forgotten).toEqual([]);
    await look(1);
    expect(pool.forgotten).toEqual([job]);
    expect(pool.released).toEqual([]);
  });

  test('is not reported when it ends meanwhile', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await look(4);
    await client.query('delete from graphile_worker._private_jobs where id = $1', [job]);
    await look(6);
    expect(pool.forgotten).toEqual([]);
  });

  test('waits for the whole time again after a look that failed', async () => {
    const pool = await startPool('alive');
    const job = await lockJob('alive');
    await look(4);
    await failLooks(1);
    await look(4);
    expect(pool.forgotten).toEqual([]);
    await look(1);
    expect(pool.forgotten).toEqual([job]);
  });
});
