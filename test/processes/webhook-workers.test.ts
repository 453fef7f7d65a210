// Several workers on one database, as real processes.
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { listWorkers } from '../../src/delivery/claim-store.ts';
import { isOnCitus } from '../support/database.ts';
import { openLoopDatabase } from '../support/loop-database.ts';
import { held } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  client,
  countDeliveries,
  cameOnce,
  database,
  receiver,
  seedEndpoints,
  startWorker,
  useWebhookWorkers,
  writeDeliveries,
  writeEvents,
} from '../support/webhook-workers.ts';

useWebhookWorkers();

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
