// What the hourly removal keeps for deliveries that wait, and what happens when a part of it fails.
import type { Task } from 'graphile-worker';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { releaseKeptEvents } from '../../src/db/kept-events.ts';
import { partsOf } from '../../src/db/parts.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { REMOVE_OLD, retentionTasks } from '../../src/features/retention/tasks.ts';
import { removeDeletedEndpoint } from '../../src/features/webhook-deliveries/removal.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { untilWaiting } from '../support/locks.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { changeTriggers } from '../support/shards.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
const clock = fixedClock(NOW);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]) });
});

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const remove = () => removeOld(api.db, clock);
const exists = async (table: string, id: string) =>
  (await query(`select from ${table} where id = $1`, [id])).length > 0;

/** Adds `count` events that are `days` old. Their ids are `evt_<name>_1` and so on. */
const addEvents = (name: string, days: number, count: number) =>
  query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_a', 'evt_' || $1 || '_' || n, 'member.joined', '{}',
       $2::timestamptz - make_interval(days => $3, secs => n::float8 / 1000), $2
     from generate_series(1, $4::int) n`,
    [name, NOW, days, count],
  );

/** Adds a delivery to `endpoint` for each of these events, waiting or finished. */
const addDeliveries = (name: string, endpoint: string, finishedDaysAgo: number | null) =>
  query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, created_at, next_try_at,
        last_attempt_at)
     select team_id, 'whd_' || $2 || id, $2, id, type,
       case when $3::int is null then 'pending' else 'ok' end, created_at,
       case when $3::int is null then created_at end, $4::timestamptz - make_interval(days => $3)
     from event
     where id like 'evt_' || $1 || '_%'`,
    [name, endpoint, finishedDaysAgo, NOW],
  );

const addEndpoint = (id: string) =>
  query(
    `insert into webhook_endpoint
       (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
     values
       ('team_a', $1, 'https://example.com', '{member.joined}', 'disabled', '2026-11', '', $2)`,
    [id, NOW],
  );

beforeEach(async () => {
  await query('truncate webhook_delivery, event, webhook_endpoint cascade');
  await addEndpoint('whe_1');
  await addEndpoint('whe_2');
});

describe('events whose deliveries wait', () => {
  test('are removed with the last delivery, also when the endpoint is deleted', async () => {
    await addEvents('shared', 60, 2);
    await addDeliveries('shared', 'whe_1', null);
    await addDeliveries('shared', 'whe_2', 40);
    expect(await remove()).toMatchObject({ deliveries: 2, events: 0 });
    await query(`delete from webhook_endpoint where id = 'whe_1'`);
    await removeDeletedEndpoint(api.db, { teamId: 'team_a', endpointId: 'whe_1' });
    expect(await remove()).toMatchObject({ events: 2 });
  });

  test('are removed when their last two deliveries are deleted at once', async () => {
    await addEvents('pair', 60, 1);
    await addDeliveries('pair', 'whe_1', null);
    await addDeliveries('pair', 'whe_2', null);
    await remove();
    const removed = [{ team_id: 'team_a', event_id: 'evt_pair_1' }];
    const [own = api.db] = await partsOf(api.db, () => Promise.resolve(['team_a']));
    const end = (endpointId: string, then: () => Promise<void>): Promise<void> =>
      own.transaction(async (tx) => {
        await tx.prisma.webhookDelivery.deleteMany({ where: { teamId: 'team_a', endpointId } });
        await releaseKeptEvents(tx, removed);
        await then();
      });
    let waiting: Promise<void> | undefined;
    await end('whe_1', async () => {
      waiting = end('whe_2', () => Promise.resolve());
      await untilWaiting(api, 1);
    });
    await waiting;
    expect(await remove()).toMatchObject({ events: 1 });
  });

  test('are not marked while their last delivery is being deleted', async () => {
    await addEvents('leaving', 60, 1);
    await addDeliveries('leaving', 'whe_1', null);
    const client = await api.db.pool.connect();
    await client.query('begin');
    await client.query('delete from webhook_delivery');
    expect(await remove()).toMatchObject({ events: 0 });
    await client.query('commit');
    client.release();
    expect(await remove()).toMatchObject({ events: 1 });
  });
});

describe('a kind that fails', () => {
  test('does not stop the others; the job fails then and names it', async () => {
    await addEvents('stuck', 60, 1);
    await query(
      `insert into audit_log
         (team_id, id, created_at, actor_kind, actor_id, action, request_id)
       select 'team_a', 'aud_' || n, '2020-01-01', 'system', 'x', 'x', 'x'
       from generate_series(1, 5) n`,
    );
    await changeTriggers(
      api,
      `create function refuse() returns trigger language plpgsql as
       $$ begin raise exception 'refused by the test'; end $$`,
      `create trigger refuse before delete on event execute function refuse()`,
    );
    const job: Task | undefined = retentionTasks(api.db, clock)[REMOVE_OLD];
    await expect(job?.({}, {} as never)).rejects.toThrow(
      'Old rows could not be removed: events: refused by the test',
    );
    expect(await query(`select from audit_log where created_at < '2021-01-01'`)).toEqual([]);
    expect(await exists('event', 'evt_stuck_1')).toBe(true);
    await query('drop function refuse cascade');
    await job?.({}, {} as never);
    expect(await exists('event', 'evt_stuck_1')).toBe(false);
  });
});
