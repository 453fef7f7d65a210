// How a worker finds what is due: it visits what is due, however many endpoints wait.
import pino from 'pino';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock, type Clock } from '../../src/core/clock.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { holdSessionLock, type SessionLock } from '../../src/db/connections/session-lock.ts';
import { listWorkers, WORKER_LOCK_CLASS } from '../../src/delivery/claim-store.ts';
import { findNewlyDue, type WaitingStatus } from '../../src/delivery/waiting-store.ts';
import { newLoop, type Loop } from '../../src/delivery/loop.ts';
import type { Share } from '../../src/delivery/queues.ts';
import { hasSearch, noticeWorkers, search } from '../../src/delivery/search.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { FIRST_ENDPOINT } from '../../src/delivery/waiting-store.ts';
import { loadTestSeed, TEST_APP_SECRET } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { RETRY_DELAYS_S } from '../support/deliveries.ts';
import { openLoopDatabase, type LoopDatabase } from '../support/loop-database.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { waitToConnect } from '../support/wire.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
/** More than one search looks at. */
const ENDPOINTS = 1_200;
/** The last one in the order in which all are looked at. */
const LAST = `whe_${ENDPOINTS}`;

let database: TestDatabase;
let db: Database;
/** The database as the delivery loop of the team uses it. */
let loopDb: LoopDatabase;
let lock: SessionLock;
let sender: Sender;
let now = NOW;
const clock: Clock = { ...systemClock, override: () => now, now: () => now };

beforeAll(async () => {
  database = await createTestDatabase();
  const options = { url: database.url, poolMax: 4, onError: () => undefined };
  db = waitToConnect(openDatabase({ ...options, statementTimeoutMs: 60_000 }));
  sender = createSender({ allowPrivateTargets: true, timeoutMs: 60_000 });
  await loadTestSeed(
    database,
    makeSeed([
      makeTeam('x', {
        webhook_endpoints: [{ id: 'whe_0', url: 'https://a.test/', events: ['member.joined'] }],
      }),
    ]),
  );
  loopDb = await openLoopDatabase(database.url, 'team_x');
  lock = await holdSessionLock(loopDb.url, WORKER_LOCK_CLASS);
  // One for each endpoint, and its name sorts like its number.
  await db.pool.query(
    `insert into webhook_endpoint
       (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
     select team_id, 'whe_' || lpad(n::text, 4, '0'), url, events, status, api_version,
       secret_encrypted, created_at
     from webhook_endpoint
     cross join generate_series(1, $1::int) n`,
    [ENDPOINTS],
  );
  await db.pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     values ('team_x', 'evt_1', 'member.joined', '{}', now(), now())`,
  );
  return async () => {
    await lock.close();
    await sender.close();
    await loopDb.close();
    await db.close();
    await database.drop();
  };
});

/** Every endpoint has a retry that is due in a day. */
beforeEach(async () => {
  now = NOW;
  await db.pool.query('delete from webhook_delivery');
  await db.pool.query(`update webhook_endpoint set status = 'active', activated_at = null`);
  await db.pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select 'team_x', 'whd_' || id, id, 'evt_1', 'member.joined', 'retrying', 1, $1::timestamptz,
       $1::timestamptz + interval '1 day'
     from webhook_endpoint
     where id <> 'whe_0'`,
    [NOW],
  );
});

const set = (endpointId: string, columns: string) =>
  db.pool.query(`update webhook_delivery set ${columns} where endpoint_id = $1`, [endpointId]);
const dueIn = (endpointId: string, ms: number) =>
  set(endpointId, `next_try_at = '${new Date(NOW.getTime() + ms).toISOString()}'`);

/** A loop that has looked at everything once, as after its start. */
async function settledLoop(): Promise<Loop> {
  const loop = newLoop(
    {
      db: loopDb.db,
      beside: loopDb.db,
      lock,
      sender,
      clock,
      secrets: { current: TEST_APP_SECRET, previous: null },
      logger: pino({ level: 'silent' }),
      limits: { held: 640, maxPerEndpoint: 8 },
      retryDelaysS: RETRY_DELAYS_S,
      observe: () => undefined,
    },
    () => undefined,
  );
  expect(hasSearch(loop)).toBe(true);
  for (let rounds = 0; hasSearch(loop); rounds += 1) {
    expect(rounds).toBeLessThan(10);
    await search(loop, false);
  }
  return loop;
}

/** What would be claimed as this. A share is of one status, so an endpoint may have three. */
function sharesOf({ queues }: Pick<Loop, 'queues'>, asked: WaitingStatus): Share[] {
  const shares = [1, 2, 3].flatMap(() => queues.takeShares(queues.capacity()));
  return shares.filter(({ status }) => status === asked);
}

/** The endpoints whose retries would be claimed next. */
const found = (loop: Loop): string[] =>
  sharesOf(loop, 'retrying').map(({ queue }) => queue.endpointId);

test('a retry is found at the first tick after it has become due', async () => {
  await dueIn(LAST, 60_000);
  const loop = await settledLoop();
  await search(loop, true);
  expect(found(loop)).toEqual([]);
  now = new Date(NOW.getTime() + 60_000);
  await search(loop, true);
  expect(found(loop)).toEqual([LAST]);
});

test('a retry is found that is committed after the tick at which it was due', async () => {
  const loop = await settledLoop();
  await search(loop, true);
  await dueIn(LAST, -4_000);
  await search(loop, true);
  expect(found(loop)).toEqual([LAST]);
});

test('a retry is found at the first tick after its paused endpoint became active', async () => {
  await dueIn(LAST, -1_000_000);
  await db.pool.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [LAST]);
  const loop = await settledLoop();
  await search(loop, true);
  expect(found(loop)).toEqual([]);
  await db.pool.query(
    `update webhook_endpoint set status = 'active', activated_at = $2 where id = $1`,
    [LAST, NOW],
  );
  await search(loop, true);
  expect(found(loop)).toEqual([LAST]);
});

test('an endpoint that is paused and activated again within a minute is found again', async () => {
  await dueIn(LAST, -1_000_000);
  const set = (status: string, activatedAt: Date | null) =>
    db.pool.query('update webhook_endpoint set status = $2, activated_at = $3 where id = $1', [
      LAST,
      status,
      activatedAt,
    ]);
  await set('disabled', null);
  const loop = await settledLoop();
  for (const ms of [0, 1_000]) {
    await set('active', new Date(NOW.getTime() + ms));
    await search(loop, true);
    expect(found(loop)).toEqual([LAST]);
  }
});

test('of two teams with the same ids, each activation is found', async ({ skip }) => {
  skip(loopDb.isShard, 'Two teams may be in two shards, with a loop each.');
  await dueIn(LAST, -1_000_000);
  await addTwinOfLast();
  await db.pool.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [LAST]);
  const loop = await settledLoop();
  // At the same moment, but the second one is committed later.
  for (const team of ['team_x', 'team_y']) {
    await db.pool.query(
      `update webhook_endpoint set status = 'active', activated_at = $3
       where team_id = $1 and id = $2`,
      [team, LAST, NOW],
    );
    await search(loop, true);
    const shares = sharesOf(loop, 'retrying');
    expect(shares.map(({ queue }) => [queue.teamId, queue.endpointId])).toEqual([[team, LAST]]);
  }
});

/** Gives another team the last endpoint, too, and its retry, until the test ends. */
async function addTwinOfLast(): Promise<void> {
  await loadTestSeed(database, makeSeed([makeTeam('y', { webhook_endpoints: [] })]));
  onTestFinished(async () => {
    for (const table of ['webhook_delivery', 'event', 'webhook_endpoint'])
      await db.pool.query(`delete from ${table} where team_id = 'team_y'`);
  });
  await db.pool.query(
    `insert into webhook_endpoint
       (team_id, id, url, events, status, api_version, secret_encrypted, created_at)
     select 'team_y', id, url, events, status, api_version, secret_encrypted, created_at
     from webhook_endpoint
     where id = $1`,
    [LAST],
  );
  await db.pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_y', id, type, data, created_at, fanned_out_at
     from event`,
  );
  await db.pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select 'team_y', id, endpoint_id, event_id, event_type, status, attempt, created_at,
       next_try_at
     from webhook_delivery
     where endpoint_id = $1`,
    [LAST],
  );
}

test('all endpoints are looked at when a worker has gone, because it knew more', async () => {
  const loop = await settledLoop();
  const other = await holdSessionLock(loopDb.url, WORKER_LOCK_CLASS);
  await noticeWorkers(loop);
  expect(hasSearch(loop)).toBe(false);
  await dueIn(LAST, -1_000_000);
  await other.close();
  await until(async () => !(await listWorkers(loopDb.db)).includes(other.number));
  await noticeWorkers(loop);
  while (hasSearch(loop)) await search(loop, false);
  expect(found(loop)).toEqual([LAST]);
});

test('what a worker has just left waiting is left to it for two seconds', async () => {
  const pendingOf = ({ queues }: Loop): string[] =>
    sharesOf({ queues }, 'pending').map(({ queue }) => queue.endpointId);
  const loop = await settledLoop();
  await set('whe_0001', `status = 'pending', attempt = 0, next_try_at = '${NOW.toISOString()}'`);
  for (const [ms, endpoints] of [
    [0, []],
    [1_999, []],
    [2_000, ['whe_0001']],
  ] as const) {
    now = new Date(NOW.getTime() + ms);
    loop.state.search.after.pending = FIRST_ENDPOINT;
    await search(loop, true);
    expect(pendingOf(loop)).toEqual(endpoints);
  }
  // After a start, and when a worker has gone, nobody else may know of it.
  now = NOW;
  expect(pendingOf(await settledLoop())).toEqual(['whe_0001']);
});

test('many retries that become due at once are all found, at one time or not', async () => {
  const count = 30;
  const at = new Date(NOW.getTime() + 60_000);
  for (let n = 1; n <= count; n += 1)
    await dueIn(`whe_${String(n).padStart(4, '0')}`, 60_000 - (n % 3));
  const seen: string[] = [];
  let after: Parameters<typeof findNewlyDue>[1]['after'] | null = { at: NOW, id: '' };
  while (after) {
    const { due, next } = await findNewlyDue(loopDb.db, { after, now: at, limit: 7 });
    seen.push(...due.map(({ endpoint_id }) => endpoint_id));
    after = next;
  }
  expect(seen.length).toBe(count);
  expect(new Set(seen).size).toBe(count);
});

test('retries of paused and deleted endpoints, and claimed ones, are not found', async () => {
  for (const id of ['whe_0001', 'whe_0002', 'whe_0003', 'whe_0004']) await dueIn(id, -1);
  await db.pool.query(`update webhook_endpoint set status = 'disabled' where id = 'whe_0001'`);
  await set('whe_0002', `endpoint_id = 'whe_gone'`);
  await set('whe_0003', 'claimed_by = 5');
  const { due } = await findNewlyDue(loopDb.db, {
    after: { at: new Date(0), id: '' },
    now: NOW,
    limit: 100,
  });
  expect(due.map(({ endpoint_id }) => endpoint_id)).toEqual(['whe_0004']);
});
