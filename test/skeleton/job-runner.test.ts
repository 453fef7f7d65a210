// What runs graphile-worker, when writes to the database fail and when it is away for a while.
import type { Task } from 'graphile-worker';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { ScheduledJob } from '../../src/core/scheduled-job.ts';
import { keepRunning, type JobRunner, type JobRunnerSignal } from '../../src/runtime/job-runner.ts';
import { createThreadLogger } from '../../src/runtime/log.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase } from '../support/database.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { recordSignals, type RecordedSignals } from '../support/signals.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

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
  readonly signals: RecordedSignals<JobRunnerSignal>;
  /** Lets time pass until it is so. */
  readonly untilTime: (isSo: () => boolean) => Promise<void>;
  /** Lets time pass until another run has begun. */
  readonly untilNextRun: () => Promise<void>;
  /** The names of the jobs that were run, in their order. */
  readonly ran: string[];
  /**
   * `hang` does not end before `endHanging`, whatever it is told, and `wait` before `endWaiting`;
   * `quick` takes no time, and `fail` quotes an address.
   */
  readonly add: (task: 'hang' | 'wait' | 'quick' | 'fail', payload: Payload) => Promise<void>;
  readonly endHanging: () => void;
  readonly endWaiting: () => void;
  /** What it has warned of. */
  readonly warnings: readonly string[];
  /** How many jobs had been run when those in flight were given to another run, each time. */
  readonly releases: readonly number[];
  /** The names of the jobs that the database has. */
  readonly waiting: () => Promise<string[]>;
  /** For each scheduled job, in how many minutes by the database's clock it has run last. */
  readonly cronMinutes: () => Promise<Record<string, number>>;
}

/** More slots than connections, as in a worker. */
const SLOTS = 6;
const POOL_MAX = 3;

interface RunOptions {
  readonly schedule?: readonly ScheduledJob[];
  /** SQL: what the database has before the start. */
  readonly before?: string;
}

async function runJobs({ schedule = [], before = '' }: RunOptions = {}): Promise<Jobs> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(REFUSE_ENDS);
  await client.query(before);
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(() => proxy.stop());
  const db = openTestDatabase({ url: proxy.url, poolMax: 4 });
  onTestFinished(() => db.close());
  const ran: string[] = [];
  const taskOf =
    (work: () => Promise<void>): Task =>
    async (payload) => {
      ran.push((payload as Payload).name);
      await work();
    };
  const hanging = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  const releases: number[] = [];
  const warnings: string[] = [];
  const clock = steppedClock(new Date());
  const signals = recordSignals<JobRunnerSignal>();
  const fail = (): Promise<void> => Promise.reject(new Error('no place for <ada@a.test>'));
  const runner = await keepRunning({
    db,
    databaseUrl: proxy.url,
    logger: createThreadLogger('warn', (line) => void warnings.push(line)),
    slots: SLOTS,
    poolMax: POOL_MAX,
    taskList: {
      hang: taskOf(() => hanging.promise),
      wait: taskOf(() => waits.promise),
      quick: taskOf(async () => undefined),
      fail: taskOf(fail),
    },
    schedule,
    onFailure: () => undefined,
    onRelease: () => void releases.push(ran.length),
    clock,
    signal: signals.signal,
  });
  const untilTime = async (isSo: () => boolean): Promise<void> => {
    await until(() => {
      clock.advance(500);
      return isSo();
    });
  };
  onTestFinished(async () => {
    let isStopped = false;
    hanging.resolve();
    void Promise.resolve(runner.stop()).then(() => (isStopped = true));
    // graphile-worker may wait for ever for an end that it cannot write.
    await untilTime(() => isStopped);
  });
  return {
    runner,
    proxy,
    ran,
    signals,
    untilTime,
    untilNextRun: async () => {
      const before = signals.count('runs');
      await untilTime(() => signals.count('runs') > before);
    },
    add: async (task, payload) => {
      await client.query('select graphile_worker.add_job($1, $2::json)', [task, payload]);
    },
    endHanging: hanging.resolve,
    endWaiting: waits.resolve,
    warnings,
    releases,
    waiting: async () => {
      const { rows } = await client.query(
        `select payload->>'name' as name from graphile_worker._private_jobs order by id`,
      );
      return rows.map(({ name }) => name);
    },
    cronMinutes: async () => {
      const { rows } = await client.query(
        `select identifier, round(extract(epoch from last_execution - now()) / 60)::int as minutes
         from graphile_worker._private_known_crontabs`,
      );
      return Object.fromEntries(rows.map(({ identifier, minutes }) => [identifier, minutes]));
    },
  };
}

const namesOf = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${word} ${number}`);

test('all slots run jobs at once over fewer connections, which nothing warns of', async () => {
  const { ran, add, warnings, untilTime } = await runJobs();
  for (const name of namesOf('hang', SLOTS)) await add('hang', { name });
  await untilTime(() => ran.length === SLOTS);
  expect(warnings).toEqual([]);
});

test('scheduled jobs run again that a worker whose clock was ahead has run', async () => {
  const never = { match: '0 0 1 1 *' };
  const { cronMinutes, warnings } = await runJobs({
    schedule: ['quick', 'hang'].map((task) => ({ task, ...never })),
    before: `insert into graphile_worker._private_known_crontabs
        (identifier, known_since, last_execution)
      values ('quick', now(), now() + interval '2 hours'),
        ('hang', now(), now() + interval '1 minute')`,
  });
  expect(await cronMinutes()).toEqual({ quick: 0, hang: 1 });
  expect(warnings).toEqual([expect.stringMatching(/"quick".*ran in the future/)]);
});

test.for([1, 2])(
  'jobs run again after the ends of %i could not be written, though another one hangs',
  async (refused) => {
    const { ran, add, endWaiting, releases, signals, untilNextRun } = await runJobs();
    await add('hang', { name: 'hang' });
    await until(() => ran.includes('hang'));
    const lost = namesOf('lost', refused);
    for (const name of lost) await add('wait', { name, refused: true });
    await until(() => lost.every((name) => ran.includes(name)));
    // All are in flight: the first end that is refused ends the run.
    endWaiting();
    await signals.reached('ending', 1);
    await untilNextRun();
    // A run that ends may still take a job, so the job comes afterwards.
    await add('quick', { name: 'next' });
    const again = ['next', ...lost];
    await until(() => again.every((name) => ran.includes(name, 1 + refused)));
    // Before the next run.
    expect(releases).toEqual([1 + refused]);
  },
);

test('the log tells that a job has failed, without the address that its error quotes', async () => {
  const { add, warnings, untilTime } = await runJobs();
  await add('fail', { name: 'fail' });
  await untilTime(() => warnings.some((line) => line.includes('no place for')));
  expect(warnings.join('')).toContain('no place for <[redacted]>');
  expect(warnings.join('')).not.toContain('ada@a.test');
});

test('a stop waits for a job in flight, though the end of another was not written', async () => {
  const { runner, ran, add, endHanging, waiting, signals, untilTime } = await runJobs();
  await add('hang', { name: 'hang' });
  await until(() => ran.includes('hang'));
  await add('quick', { name: 'lost', refused: true });
  await signals.reached('ending', 1);
  let isStopped = false;
  void Promise.resolve(runner.stop()).then(() => (isStopped = true));
  expect(await waiting()).toEqual(['hang', 'lost']);
  expect(isStopped).toBe(false);
  endHanging();
  // graphile-worker may have failed twice to write an end. Then it writes no other one, either, and
  // only the runner's timers end the run.
  await untilTime(() => isStopped);
  expect(await waiting()).toContain('lost');
});

test('all slots run jobs after a database has started again', async () => {
  const { runner, proxy, ran, add, waiting, untilTime } = await runJobs();
  await add('quick', { name: 'before' });
  await until(async () => ran.includes('before') && (await waiting()).length === 0);
  proxy.turnAway();
  // By its code graphile-worker would know this error, and would not poll for up to 2 minutes.
  // The first connections may not have learned yet that they are broken.
  const error = await until(() =>
    runner
      .pool()
      .connect()
      .then((client) => client.release(true))
      .catch((fault: unknown) => fault),
  );
  expect(error).toMatchObject({ message: expect.stringContaining('starting up') });
  expect(error).not.toHaveProperty('code');
  for (const name of namesOf('after', SLOTS)) await add('hang', { name });
  proxy.recover();
  // A run that has ended begins again after a pause.
  await untilTime(() => ran.length === 1 + SLOTS);
});
