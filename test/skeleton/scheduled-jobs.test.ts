// What scheduled jobs leave in the job runner's tables when they fail, or when nobody runs them.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Logger, runOnce, type Task } from 'graphile-worker';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { ScheduledJob } from '../../src/core/scheduled-job.ts';
import { cronItemsOf } from '../../src/runtime/cron-items.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openSturdyPool } from '../support/pool.ts';
import { until } from '../support/until.ts';

const FEATURES = join(import.meta.dirname, '../../src/features');

/** Those of all features, so that no new one is forgotten here. */
const ITEMS = cronItemsOf(await readJobs());
const TASKS = ITEMS.map(({ task }) => task).toSorted();

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  // The job runner warns of a pool without handlers of errors at each run.
  pool = openSturdyPool(database.url, 10);
});

beforeEach(async () => {
  await pool.query('delete from graphile_worker._private_jobs');
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

async function readJobs(): Promise<ScheduledJob[]> {
  const files = readdirSync(FEATURES, { recursive: true, encoding: 'utf8' });
  const modules = await Promise.all(
    files
      .filter((file) => file.endsWith('tasks.ts'))
      .map((file) => import(join(FEATURES, file)) as Promise<Readonly<Record<string, unknown>>>),
  );
  return modules.flatMap((exported) =>
    Object.entries(exported).flatMap(([name, value]) =>
      name.endsWith('_CRON') ? (value as readonly ScheduledJob[]) : [],
    ),
  );
}

/** Adds a job of each, as the schedule of the job runner does when it is time. */
async function addAll(): Promise<void> {
  for (const { task, options } of ITEMS)
    await pool.query('select graphile_worker.add_job($1, null, $2, now(), $3, $4, $5, null, $6)', [
      task,
      options.queueName,
      options.maxAttempts,
      options.jobKey,
      options.priority,
      options.jobKeyMode,
    ]);
}

/** Runs those that are due, and those that become due in the meantime. */
function runDue(task: Task): Promise<void> {
  return runOnce({
    pgPool: pool,
    taskList: Object.fromEntries(TASKS.map((name) => [name, task])),
    concurrency: TASKS.length,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
  });
}

interface Job {
  readonly task: string;
  readonly attempts: number;
  readonly run_at: Date;
  readonly is_given_up: boolean;
  readonly wait_s: number;
}

async function readWaiting(): Promise<Job[]> {
  const { rows } = await pool.query<Job>(
    `select task_identifier as task, attempts, run_at, attempts >= max_attempts as is_given_up,
       extract(epoch from run_at - now())::float8 as wait_s
     from graphile_worker.jobs
     where locked_at is null
     order by 1`,
  );
  return rows;
}

const tasksOf = (jobs: readonly Job[]): string[] => jobs.map(({ task }) => task);
const fail = (): never => {
  throw new Error('a fault');
};

test('there are some of several features', () => {
  expect(TASKS).toEqual(expect.arrayContaining(['pause_endpoints', 'erase_teams', 'remove_old']));
});

test('if each run fails, one of each waits, and is tried again within seconds', async () => {
  for (let run = 0; run < 3; run += 1) {
    await addAll();
    await runDue(fail);
    // The run does not wait until the end of a job that failed is written.
    await until(async () => (await readWaiting()).length === TASKS.length);
  }
  const waiting = await readWaiting();
  expect(tasksOf(waiting)).toEqual(TASKS);
  for (const { attempts, is_given_up, wait_s } of waiting) {
    expect(is_given_up).toBe(false);
    // A run that takes seconds tries again, and the next job begins anew.
    expect([1, 2]).toContain(attempts);
    expect(wait_s).toBeLessThan(10);
  }
});

test('if nobody runs them, one of each waits, since it was due first', async () => {
  await addAll();
  const first = await readWaiting();
  await addAll();
  await addAll();
  expect(await readWaiting()).toMatchObject(first.map(({ task, run_at }) => ({ task, run_at })));
});

test('while one runs the next one waits for its end', async () => {
  const running: Record<string, number> = {};
  let most = 0;
  let started = 0;
  const ended = Promise.withResolvers<void>();
  const work: Task = async (_payload, { job: { task_identifier: name } }) => {
    running[name] = (running[name] ?? 0) + 1;
    most = Math.max(most, running[name]);
    started += 1;
    if (running[name] === 1) await ended.promise;
    running[name] -= 1;
  };
  onTestFinished(() => ended.resolve());
  await addAll();
  const first: Promise<void>[] = [];
  // A run ends when it finds nothing, for instance because another one is taking the same job.
  while (started < TASKS.length) {
    const before = started;
    let hasEnded = false;
    first.push(runDue(work).finally(() => (hasEnded = true)));
    await until(() => started > before || hasEnded);
  }
  await addAll();
  await runDue(work);
  expect([started, tasksOf(await readWaiting())]).toEqual([TASKS.length, TASKS]);
  ended.resolve();
  await Promise.all(first);
  await runDue(work);
  expect([started, most]).toEqual([2 * TASKS.length, 1]);
  expect(await readWaiting()).toEqual([]);
});
