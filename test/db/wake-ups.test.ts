// How workers learn of changes: after the commit, many at once, and never within a transaction.
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { contextOfJob } from '../../src/db/change-context.ts';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { startListener } from '../../src/db/connections/listener.ts';
import { ONLY_EVENTS, WAKE_UP_CHANNELS } from '../../src/db/connections/wake-ups.ts';
import { movePendingJobs, startJobIntake } from '../../src/db/jobs/job-intake.ts';
import { record, type ChangeRecord } from '../../src/db/outbox.ts';
import { makeUrgent } from '../../src/features/webhook-deliveries/store.ts';
import { steppedClock } from '../support/clocks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { countWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { recordSignals } from '../support/signals.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

let database: TestDatabase;
let client: Client;
let db: Database;
/** Channels of the messages so far. */
let heard: string[];
/** The time between two wake-ups, at least. */
const GATHER_MS = 20;
/** So long the job intake waits before each batch. */
const BATCH_AFTER_MS = 25;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`insert into team (id, name, created_at) values ('team_a', 'A', now())`);
  client.on('notification', ({ channel }) => heard.push(channel));
  await client.query('listen wake_deliveries; listen wake_jobs; listen "jobs:insert"');
  return async () => {
    await client.end();
    await database.drop();
  };
});

beforeEach(async () => {
  db = openTestDatabase({ url: database.url, poolMax: 8 });
  await client.query('delete from pending_job; delete from graphile_worker._private_jobs');
  await client.query('delete from event');
  heard = [];
});

afterEach(() => db.close());

const EVENT: ChangeRecord = {
  audit: { action: 'case.deleted', targetId: 'asg_1' },
  events: [
    {
      type: 'crm.sync.failed',
      data: { connection_id: 'crm_1', provider: 'hubspot', reason: 'timeout' },
    },
  ],
};
const withJob = (key?: string, n = 0): ChangeRecord => ({
  audit: { action: 'case.deleted', targetId: 'asg_1' },
  jobs: [
    {
      task: 'send_invitation',
      payload: { teamId: 'team_a', n },
      ...(key !== undefined && { key }),
    },
  ],
});

const change = (
  what: ChangeRecord,
  work = async (_tx: Tx): Promise<void> => undefined,
  by = db,
): Promise<void> =>
  by.transaction(async (tx) => {
    const actor = { kind: 'platform', id: 'test' } as const;
    const at = systemClock.now();
    const context = contextOfJob({ teamId: 'team_a', actor, requestId: 'req_1', at });
    record(tx, context, what);
    await work(tx);
  });

const makeDue = async (tx: Tx): Promise<void> => makeUrgent(tx, 'team_a', 'whd_1');

const countOf = async (table: string): Promise<number> =>
  (await client.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]?.n ?? -1;

/** Resolves after everything that was sent so far has been heard. */
const hearAll = async (): Promise<void> => {
  await client.query(`notify wake_jobs, 'end'`);
  await client.query('select 1');
};

describe('a wake-up', () => {
  test('comes after the commit of an event, of a job, and of a delivery that is due', async () => {
    await change(EVENT);
    await until(async () => heard.length === 1);
    await change(withJob());
    await until(async () => heard.length === 2);
    await change({ audit: EVENT.audit }, makeDue);
    await until(async () => heard.length === 3);
    expect(heard).toEqual(['wake_deliveries', 'wake_jobs', 'wake_deliveries']);
  });

  test('does not come without a commit, nor for a change without events and jobs', async () => {
    const fault = new Error('rolled back');
    const fails = change(EVENT, () => Promise.reject(fault));
    await expect(fails).rejects.toThrow(fault);
    await change({ audit: EVENT.audit });
    await db.close();
    await hearAll();
    expect(heard).toEqual(['wake_jobs']);
    db = openTestDatabase({ url: database.url, poolMax: 8 });
  });

  test('says if there are only events, but not if a delivery is due, too', async () => {
    const payloads: (string | undefined)[] = [];
    const note = ({ payload }: { readonly payload?: string | undefined }): unknown =>
      payloads.push(payload);
    client.on('notification', note);
    await change(EVENT);
    await until(async () => payloads.length === 1);
    await change(EVENT, makeDue);
    await until(async () => payloads.length === 2);
    client.off('notification', note);
    expect(payloads).toEqual([ONLY_EVENTS, '']);
  });

  test('is heard after the commit, although it is sent with it', async () => {
    const seen: Promise<number>[] = [];
    const look = (): unknown => seen.push(countOf('event'));
    client.on('notification', look);
    for (let round = 1; round <= 10; round += 1) {
      await change(EVENT);
      await until(async () => seen.length === round);
      expect(await seen.at(-1)).toBe(round);
      // A process without wake-ups just before, so that this one is not gathered with the next.
      await db.close();
      db = openTestDatabase({ url: database.url, poolMax: 8 });
    }
    client.off('notification', look);
  });

  test('keeps its connection until it is out, and nobody else waits for it', async () => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    proxy.prepareInstead(
      'wakeUps.notify',
      'select 1 from pg_advisory_xact_lock(7) where $1::text[] <> $2::text[]',
    );
    const release = await holdLock({ databaseUrl: database.url }, 'select pg_advisory_lock(7)');
    const url = proxy.url;
    const apart = openTestDatabase({ url, poolMax: 2 });
    await change(EVENT, undefined, apart);
    await untilWaiting({ db }, 1, '%pg_advisory_xact_lock(7)%');
    await change(EVENT, undefined, apart);
    expect(await countWaiting(db, '%pg_advisory_xact_lock(7)%')).toBe(1);
    await release();
    await apart.close();
  });

  test('is one for many commits, and the last commit has one too', async () => {
    const clock = steppedClock(new Date());
    const gathering = openTestDatabase({ url: database.url, poolMax: 8, clock });
    const { waiting: idle } = clock;
    const isGathering = (): boolean => clock.waiting > idle;
    await change(EVENT, undefined, gathering);
    for (let round = 0; round < 5; round += 1)
      await Promise.all(Array.from({ length: 20 }, () => change(EVENT, undefined, gathering)));
    await hearAll();
    expect(heard).toEqual(['wake_deliveries', 'wake_jobs']);
    await until(isGathering);
    const closed = gathering.close();
    clock.advance(GATHER_MS);
    await until(() => heard.length === 3);
    await until(isGathering);
    clock.advance(GATHER_MS);
    await closed;
    await hearAll();
    expect(await countOf('event')).toBe(101);
    expect(heard).toEqual(['wake_deliveries', 'wake_jobs', 'wake_deliveries', 'wake_jobs']);
  });
});

describe('the listener', () => {
  test('hears again after its connection broke, and looks for what it has missed', async () => {
    let woken = 0;
    const errors: Error[] = [];
    const clock = steppedClock(new Date());
    const listener = startListener({
      databaseUrl: database.url,
      channels: { [WAKE_UP_CHANNELS.deliveries]: () => (woken += 1) },
      onError: (error) => errors.push(error),
      clock,
    });
    await until(async () => woken === 1);
    await change(EVENT);
    await until(async () => woken === 2);
    await client.query(
      `select pg_terminate_backend(pid)
       from pg_stat_activity
       where query like 'listen "wake_deliveries"%' and datname = current_database()`,
    );
    await until(async () => {
      clock.advance(1_000);
      return woken === 3;
    });
    // A busy machine may have needed several tries.
    const { length } = errors;
    expect(length).toBeGreaterThanOrEqual(1);
    await change(EVENT);
    await until(async () => woken === 4);
    await listener.close();
    expect(errors).toHaveLength(length);
  });
});

test('a listener without any primary among its hosts tries again, and harms nobody', async () => {
  const failed = Promise.withResolvers<Error>();
  const listener = startListener({
    databaseUrl: 'postgres://app@127.0.0.1:1,127.0.0.1:2/app?target_session_attrs=read-write',
    channels: {},
    onError: failed.resolve,
  });
  expect((await failed.promise).message).toMatch(/^none of the hosts/);
  await listener.close();
});

// Each would wait for ever for an answer.
describe('the listener ends at once although the database', () => {
  let proxy: PostgresProxy;
  beforeEach(async () => {
    proxy = await startPostgresProxy(database.url);
  });
  afterEach(() => proxy.stop());
  const listen = (wake: () => void) =>
    startListener({
      databaseUrl: proxy.url,
      channels: { [WAKE_UP_CHANNELS.deliveries]: wake },
      onError: () => undefined,
    });
  test('has fallen silent', async () => {
    let isHeard = false;
    const listener = listen(() => (isHeard = true));
    await until(async () => isHeard);
    proxy.fallSilent();
    await expect(listener.close()).resolves.toBeUndefined();
  });

  test.each([
    ['the connection', '\0user\0'],
    ['what to listen to', 'listen "wake_deliveries"'],
  ])('does not answer to %s', async (_, text) => {
    const silent = proxy.fallSilentAt(text);
    const listener = listen(() => undefined);
    await silent;
    await expect(listener.close()).resolves.toBeUndefined();
  });
});

describe('the job intake', () => {
  const jobs = async () =>
    (
      await client.query<{ key: string | null; task: string; max_attempts: number }>(
        `select key, task_identifier as task, max_attempts from graphile_worker.jobs order by id`,
      )
    ).rows;

  const startIntake = () => {
    const clock = steppedClock(new Date());
    const moved = recordSignals<'moved'>();
    const errors: unknown[] = [];
    const intake = startJobIntake(db, {
      onError: (error) => errors.push(error),
      onRefused: (_job, error) => errors.push(error),
      clock,
      signals: moved.signal,
    });
    return { intake, clock, moved, errors };
  };

  test('adds each job once, whoever takes it', async () => {
    for (let n = 0; n < 30; n += 1) await change(withJob(`send_invitation:${n}`));
    const others = Array.from({ length: 4 }, () => movePendingJobs(db));
    expect((await Promise.all(others)).reduce((sum, moved) => sum + moved)).toBe(30);
    const added = await jobs();
    expect(new Set(added.map(({ key }) => key)).size).toBe(30);
    expect(added).toHaveLength(30);
    expect(added[0]).toMatchObject({ task: 'send_invitation', max_attempts: 25 });
    expect(await countOf('pending_job')).toBe(0);
  });

  test('adds one of several jobs with the same key, and all without a key', async () => {
    for (let n = 0; n < 3; n += 1) await change(withJob('send_invitation:same', n));
    for (let n = 0; n < 3; n += 1) await change(withJob(undefined, n));
    expect(await movePendingJobs(db)).toBe(6);
    const { rows } = await client.query(
      `select key, payload->'n' as n
       from graphile_worker._private_jobs
       order by key, payload->>'n'`,
    );
    expect(rows).toEqual([
      { key: 'send_invitation:same', n: 2 },
      { key: null, n: 0 },
      { key: null, n: 1 },
      { key: null, n: 2 },
    ]);
  });

  test('neither loses nor repeats a job if the move fails', async () => {
    await change(withJob('send_invitation:1'));
    await client.query('alter table graphile_worker._private_jobs rename to jobs_away');
    await expect(movePendingJobs(db)).rejects.toThrow('_private_jobs');
    expect(await countOf('pending_job')).toBe(1);
    await client.query('alter table graphile_worker.jobs_away rename to _private_jobs');
    expect(await movePendingJobs(db)).toBe(1);
    expect(await jobs()).toHaveLength(1);
  });

  test('sets a job aside that the job runner refuses, and moves all others', async () => {
    await client.query(
      `insert into pending_job (team_id, id, task, payload, key)
       select 'team_a', 'job_' || to_char(n, 'FM000'), 'send_invitation', '{"teamId":"team_a"}',
         case when n in (7, 300) then repeat('x', 513) end
       from generate_series(1, 500) n`,
    );
    const refused: string[] = [];
    const move = () => movePendingJobs(db, ({ team_id, id }) => refused.push(`${team_id} ${id}`));
    expect(await move()).toBe(498);
    expect(refused).toEqual(['team_a job_007', 'team_a job_300']);
    expect(await jobs()).toHaveLength(498);
    expect(await countOf('pending_job where refused_at is not null')).toBe(2);
    // It is not in front of the others again.
    await change(withJob());
    expect(await move()).toBe(1);
    expect(refused).toHaveLength(2);
    await client.query(
      `update pending_job
       set refused_at = now() - interval '2 hours', key = 'x'
       where id = 'job_007'`,
    );
    expect(await move()).toBe(1);
    expect(await countOf('pending_job')).toBe(1);
  });

  test('tells the job runner, but not while there is nothing to tell', async () => {
    await movePendingJobs(db);
    await hearAll();
    expect(heard).toEqual(['wake_jobs']);
    await change(withJob());
    await movePendingJobs(db);
    await until(async () => heard.includes('jobs:insert'));
  });

  test('moves all jobs at one wake-up, however many there are', async () => {
    await client.query(
      `insert into pending_job (team_id, id, task, payload)
       select 'team_a', 'job_' || n, 'send_invitation', '{"teamId":"team_a"}'
       from generate_series(1, 1001) n`,
    );
    const { intake, clock, moved } = startIntake();
    for (const batch of [1, 2, 3]) {
      clock.advance(BATCH_AFTER_MS);
      await moved.reached('moved', batch);
    }
    await intake.stop();
    expect(await countOf('pending_job')).toBe(0);
    expect(await jobs()).toHaveLength(1001);
  });

  test('stops at once although many jobs wait', async () => {
    await client.query(
      `insert into pending_job (team_id, id, task, payload)
       select 'team_a', 'job_' || n, 'send_invitation', '{"teamId":"team_a"}'
       from generate_series(1, 1501) n`,
    );
    const { intake, clock, moved } = startIntake();
    clock.advance(BATCH_AFTER_MS);
    await moved.reached('moved', 1);
    const stopped = intake.stop();
    clock.advance(BATCH_AFTER_MS);
    await stopped;
    expect(moved.count('moved')).toBe(2);
    expect(await countOf('pending_job')).toBe(501);
  });

  test('finds jobs without a wake-up', async () => {
    const { intake, clock, moved, errors } = startIntake();
    clock.advance(BATCH_AFTER_MS);
    await moved.reached('moved', 1);
    await change(withJob());
    clock.advance(500);
    clock.advance(BATCH_AFTER_MS);
    await moved.reached('moved', 2);
    await intake.stop();
    expect(await jobs()).toHaveLength(1);
    expect(errors).toEqual([]);
  });
});
