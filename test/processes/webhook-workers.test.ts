// Several workers on one database, as real processes, and what happens when one of them ends.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listWorkers } from '../../src/delivery/due-store.ts';
import { loadTestSeed } from '../support/api.ts';
import { startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import { createTestDatabase, isOnCitus, type TestDatabase } from '../support/database.ts';
import { openLoopDatabase } from '../support/loop-database.ts';
import { hang, held, inTurn, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/** Only a test that hangs takes longer. */

let database: TestDatabase;
let client: Client;
let receiver: Receiver;
let workers: RunningProcess[];

beforeEach(async () => {
  workers = [];
  receiver = await startReceiver();
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  await client.end();
  await database.drop();
  await receiver.stop();
});

async function startWorker(): Promise<RunningProcess> {
  const worker = await startWorkerProcess(database.url, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    WORKER_CONCURRENCY: '20',
    // Longer than any test, so that an attempt hangs until its worker ends.
    WEBHOOK_TIMEOUT_MS: '600000',
  });
  workers.push(worker);
  return worker;
}

/** Makes endpoints `whe_0` … of one team, at the paths `/0` …. */
async function seedEndpoints(count: number): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, n) => `/${n}`);
  await loadTestSeed(database, {
    teams: [
      {
        id: 'team_a',
        name: 'A',
        plan: 'team',
        seats: 5,
        members: [{ email: 'owner@a.test', role: 'owner', user_id: 'usr_owner' }],
        webhook_endpoints: paths.map((path, n) => ({
          id: `whe_${n}`,
          url: receiver.url + path,
          events: ['member.joined'],
        })),
      },
    ],
  });
  return paths;
}

/** Writes events without waking a worker. With `isFannedOut` they do not wait for a fan-out. */
async function writeEvents(count: number, isFannedOut = false): Promise<void> {
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_a', 'evt_' || i, 'member.joined', '{"team_id":"team_a"}', clock_timestamp(),
       case when $2::boolean then now() end
     from generate_series(1, $1::int) i`,
    [count, isFannedOut],
  );
}

/** Writes this many waiting deliveries for each endpoint, without waking a worker. */
async function writeDeliveries(
  count: number,
  fields = { status: 'pending', attempt: 0, claimedBy: null as number | null },
): Promise<void> {
  await writeEvents(count, true);
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt,
        created_at, next_try_at, claimed_by)
     select w.team_id, 'dlv_' || lpad(i::text, 6, '0') || w.id, w.id, 'evt_' || i,
       'member.joined', $2, $3, now(), now(), $4
     from webhook_endpoint w, generate_series(1, $1::int) i`,
    [count, fields.status, fields.attempt, fields.claimedBy],
  );
}

/** Writes a due delivery to the first endpoint, claimed by a worker that no longer exists. */
async function writeAbandoned(id: string): Promise<void> {
  await client.query(
    `with e as (
       insert into event (team_id, id, type, data, created_at, fanned_out_at)
       values ('team_a', $1, 'member.joined', '{"team_id":"team_a"}', now(), now())
       returning team_id, id
     )
     insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at, claimed_by)
     select team_id, 'dlv_' || id, 'whe_0', id, 'member.joined', now(), now(), 7
     from e`,
    [id],
  );
}

async function countDeliveries(where: string): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from webhook_delivery where ${where}`,
  );
  return rows[0].count;
}

async function countListeners(): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count
     from pg_stat_activity
     where datname = current_database() and query ilike 'listen%'`,
  );
  return rows[0].count;
}

/** Returns whether each endpoint got each event once, and nothing else. */
function cameOnce(paths: readonly string[], events: number): boolean {
  return paths.every((path) => {
    const ids = receiver.requestsTo(path).map(({ headers }) => headers['svc-event-id']);
    return ids.length === events && new Set(ids).size === events;
  });
}

describe('two workers', () => {
  test('share the deliveries and make none twice', async () => {
    const paths = await seedEndpoints(20);
    const gate = held(async (response) => response.writeHead(200).end(await delay(50, '')));
    for (const path of paths) receiver.on(path, gate.behaviour);
    await Promise.all([startWorker(), startWorker()]);
    await writeDeliveries(100);
    await until(async () => {
      const { rows } = await client.query(
        'select count(distinct claimed_by)::int as count from webhook_delivery',
      );
      return rows[0].count === 2;
    });
    gate.open();
    await until(() => receiver.requests.length >= 2000);
    await until(
      async () =>
        (await countDeliveries(`status = 'ok' and attempt = 1 and claimed_by is null`)) === 2000,
    );
    expect(cameOnce(paths, 100)).toBe(true);
  });

  test('fan each event out once', async () => {
    const paths = await seedEndpoints(5);
    await Promise.all([startWorker(), startWorker()]);
    await writeEvents(300);
    await until(() => receiver.requests.length >= 1500);
    await until(async () => (await countDeliveries(`status = 'ok' and attempt = 1`)) === 1500);
    expect(cameOnce(paths, 300)).toBe(true);
    await until(async () => (await client.query('select from event_in_hand')).rowCount === 0);
  });
});

describe('a burst of events', () => {
  const rowsWhenAnalyzed = async (): Promise<number> => {
    const { rows } = await client.query(
      `select reltuples::int as count from pg_class where oid = 'webhook_delivery'::regclass`,
    );
    return rows[0].count;
  };

  // Sessions keep the plans that were made for a few rows. The tests' Postgres analyzes nothing.
  test('that fills a small table has it analyzed', async ({ skip }) => {
    skip(isOnCitus(), 'A loop of many leaves the shards to autovacuum.');
    await seedEndpoints(20);
    await startWorker();
    await writeDeliveries(1);
    await until(async () => (await countDeliveries(`status = 'ok'`)) === 20);
    await delay(1_000);
    expect(await rowsWhenAnalyzed()).toBe(-1);
    await client.query(`delete from webhook_delivery`);
    await client.query(`delete from event`);
    await writeDeliveries(500);
    await until(async () => (await rowsWhenAnalyzed()) >= 1_000);
    await until(async () => (await countDeliveries(`status = 'ok'`)) === 10_000);
  });
});

describe('a worker that ends', () => {
  test.each([
    ['that it found', () => writeDeliveries(1)],
    ['that it inserted', () => writeEvents(1)],
  ])(
    'when it is killed, another worker makes the attempts %s, and not before',
    async (_, write) => {
      const paths = await seedEndpoints(15);
      for (const path of paths) receiver.on(path, inTurn(hang, status(200)));
      await write();
      const victim = await startWorker();
      await until(() => receiver.requests.length === 15);
      // It lives and does nothing, so the other one makes all deliveries from now on.
      void victim.kill('SIGSTOP');
      await startWorker();
      // The other one takes unclaimed deliveries, and leaves alone those that the first one has.
      for (const count of [16, 17, 18]) {
        await writeAbandoned(`evt_late_${count}`);
        await until(() => receiver.requests.length >= count);
        expect(receiver.requests).toHaveLength(count);
      }
      await victim.kill('SIGKILL');
      await until(() => receiver.requests.length === 33);
      await until(
        async () =>
          (await countDeliveries(`status = 'ok' and attempt = 1 and claimed_by is null`)) === 18,
      );
      await until(async () => (await client.query('select from event_in_hand')).rowCount === 0);
    },
  );

  test('when it is stopped, it ends attempts in flight and releases its other claims', async () => {
    const paths = await seedEndpoints(5);
    const gate = held(status(200));
    for (const path of paths) receiver.on(path, gate.behaviour);
    await writeDeliveries(50);
    const worker = await startWorker();
    await until(() => receiver.requests.length === 5);
    // The two job runners, and the worker itself.
    await until(async () => (await countListeners()) === 3);
    const ended = worker.kill('SIGTERM');
    // It has handled the signal once it no longer listens.
    await until(async () => (await countListeners()) === 0);
    await until(async () => (await countDeliveries('claimed_by is not null')) === 5);
    gate.open();
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(receiver.requests).toHaveLength(5);
    expect(await countDeliveries(`status = 'ok'`)).toBe(5);
    expect(await countDeliveries(`status = 'pending' and claimed_by is null`)).toBe(245);
  });
});

describe('without a wake-up', () => {
  test('a worker finds first attempts and retries that are due', async () => {
    await seedEndpoints(3);
    await startWorker();
    await writeDeliveries(1);
    await until(() => receiver.requests.length === 3);
    await until(async () => (await countDeliveries(`status = 'ok'`)) === 3);
    await client.query(
      `update webhook_delivery
       set status = 'retrying', next_try_at = now() + interval '100 ms'`,
    );
    await until(() => receiver.requests.length === 6);
    await until(async () => (await countDeliveries('claimed_by is null')) === 3);
    expect(await countDeliveries(`status = 'ok' and attempt = 2`)).toBe(3);
  });

  test('a worker that starts delivers the events that were written before', async () => {
    const paths = await seedEndpoints(2);
    await writeEvents(400);
    await startWorker();
    await until(() => receiver.requests.length >= 800);
    await until(async () => (await countDeliveries(`status = 'ok' and attempt = 1`)) === 800);
    expect(cameOnce(paths, 400)).toBe(true);
  });

  test('claims of ended workers, and claims whose answer was lost, are released', async () => {
    await seedEndpoints(1);
    await writeDeliveries(2, { status: 'pending', attempt: 0, claimedBy: 7 });
    await startWorker();
    await until(() => receiver.requests.length === 2);
    await until(async () => (await countDeliveries(`status = 'ok'`)) === 2);
    const loop = await openLoopDatabase(database.url, 'team_a');
    const [worker] = await listWorkers(loop.db);
    await loop.close();
    await client.query(
      `update webhook_delivery
       set status = 'retrying', next_try_at = now(), claimed_by = $1`,
      [worker],
    );
    await until(() => receiver.requests.length >= 4);
    expect(receiver.requests).toHaveLength(4);
  });

  test('a worker that lost all its connections continues with new ones', async () => {
    await seedEndpoints(1);
    await startWorker();
    await client.query(
      `select pg_terminate_backend(pid)
       from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await writeEvents(1);
    await until(async () => (await countDeliveries(`status = 'ok'`)) === 1);
    expect(receiver.requests).toHaveLength(1);
  });
});
