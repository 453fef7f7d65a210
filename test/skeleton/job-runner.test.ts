// What runs graphile-worker, when writes to the database fail and when it is away for a while.
import { setTimeout as delay } from 'node:timers/promises';
import type { Task } from 'graphile-worker';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/connections/database.ts';
import { keepRunning, type JobRunner } from '../../src/runtime/job-runner.ts';
import { createLogger } from '../../src/runtime/log.ts';
import { createTestDatabase } from '../support/database.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { TEST_WIRE } from '../support/wire.ts';

/** Jobs in flight have 11 s at the end of a run, and the next run begins some 2 s later. */
const AFTER_A_RUN_MS = 20_000;
const LIMIT = { timeout: 60_000 };

/** The first end of a job whose payload asks for that cannot be written down. */
const REFUSE_ENDS = `
  create function refuse_end() returns trigger language plpgsql as $$
    begin
      if old.attempts = 1 and old.payload->>'refused' = 'true' then
        raise exception 'the end of this job cannot be written';
      end if;
      return old;
    end $$;
  create trigger refuse_end before delete on graphile_worker._private_jobs
    for each row execute function refuse_end()`;

interface Payload {
  readonly name: string;
  readonly refused?: true;
}

interface Jobs {
  readonly runner: JobRunner;
  readonly proxy: PostgresProxy;
  /** The names of the jobs that were run, in their order. */
  readonly ran: string[];
  /** `hang` does not end before `endHanging`, whatever it is told; `quick` takes no time. */
  readonly add: (task: 'hang' | 'quick', payload: Payload) => Promise<void>;
  readonly endHanging: () => void;
  /** How many jobs had been run when those in flight were given to another run, each time. */
  readonly releases: readonly number[];
  /** The names of the jobs that the database has. */
  readonly waiting: () => Promise<string[]>;
}

const SLOTS = 4;

async function runJobs(): Promise<Jobs> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(REFUSE_ENDS);
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(() => proxy.stop());
  const db = openDatabase({
    wire: TEST_WIRE,
    url: proxy.url,
    poolMax: 4,
    onError: () => undefined,
  });
  onTestFinished(() => db.close());
  const ran: string[] = [];
  const taskOf =
    (work: () => Promise<void>): Task =>
    async (payload) => {
      ran.push((payload as Payload).name);
      await work();
    };
  const hanging = Promise.withResolvers<void>();
  const releases: number[] = [];
  const runner = await keepRunning({
    db,
    databaseUrl: proxy.url,
    logger: createLogger('silent'),
    slots: SLOTS,
    taskList: { hang: taskOf(() => hanging.promise), quick: taskOf(async () => undefined) },
    cronItems: [],
    onFailure: () => undefined,
    onRelease: () => void releases.push(ran.length),
  });
  onTestFinished(() => runner.stop());
  onTestFinished(() => hanging.resolve());
  return {
    runner,
    proxy,
    ran,
    add: async (task, payload) => {
      await client.query('select graphile_worker.add_job($1, $2::json)', [task, payload]);
    },
    endHanging: hanging.resolve,
    releases,
    waiting: async () => {
      const { rows } = await client.query(
        `select payload->>'name' as name from graphile_worker._private_jobs order by id`,
      );
      return rows.map(({ name }) => name);
    },
  };
}

const namesOf = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${word} ${number}`);

test.for([1, 2])(
  'jobs run again soon after the ends of %i could not be written, though another one hangs',
  LIMIT,
  async (refused) => {
    const { ran, add, releases } = await runJobs();
    await add('hang', { name: 'hang' });
    await until(() => ran.includes('hang'));
    const lost = namesOf('lost', refused);
    for (const name of lost) await add('quick', { name, refused: true });
    await until(() => lost.every((name) => ran.includes(name)));
    // By then graphile-worker takes no more jobs.
    await delay(500);
    const startedAt = performance.now();
    await add('quick', { name: 'next' });
    await until(() => ['next', ...lost].every((name) => ran.lastIndexOf(name) > refused));
    expect(performance.now() - startedAt).toBeLessThan(AFTER_A_RUN_MS);
    // Before the next run.
    expect(releases).toEqual([1 + refused]);
  },
);

test('a stop waits for a job in flight, though the end of another was not written', async () => {
  const { runner, ran, add, endHanging, waiting } = await runJobs();
  await add('hang', { name: 'hang' });
  await until(() => ran.includes('hang'));
  await add('quick', { name: 'lost', refused: true });
  await until(() => ran.includes('lost'));
  await delay(500);
  const stopped = runner.stop();
  await delay(500);
  endHanging();
  await stopped;
  expect(await waiting()).toEqual(['lost']);
});

test('all slots run jobs within seconds after a database has started again', LIMIT, async () => {
  const { proxy, ran, add, waiting } = await runJobs();
  await add('quick', { name: 'before' });
  await until(async () => ran.includes('before') && (await waiting()).length === 0);
  proxy.turnAway();
  // graphile-worker by itself would wait for some 10 s by then, and for up to 2 minutes later.
  await delay(15_000);
  for (const name of namesOf('after', SLOTS)) await add('hang', { name });
  proxy.recover();
  const upAt = performance.now();
  await until(() => ran.length === 1 + SLOTS);
  expect(performance.now() - upAt).toBeLessThan(5_000);
});
