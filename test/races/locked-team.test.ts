// A transaction that locks all rows of one team for long, as `seed --replace` does: other teams do
// not notice, and nothing deadlocks with it.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { recordAttempts, type RecordedAttempt } from '../../src/delivery/result-store.ts';
import { addUsage } from '../../src/features/usage/store.ts';
import { pauseEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { openLoopDatabase } from '../support/loop-database.ts';
import { platformOf } from '../support/platform.ts';
import { held, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Of one endpoint. */
const UNWRITTEN_MAX = 100;
const IN_FLIGHT_MAX = 8;

let api: TestApi;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  api = await startTestApi({ seed: seedOf('a', 'b'), allowPrivateTargets: true });
});

function seedOf(...names: string[]) {
  return makeSeed(
    names.map((name) =>
      makeFullTeam(name, {
        webhook_endpoints: [
          {
            id: `whe_${name}`,
            url: `${receiver.url}/${name}`,
            events: ['assignment.created', 'member.joined'],
          },
        ],
      }),
    ),
  );
}

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const replace = () =>
  loadTestSeed({ url: api.databaseUrl }, seedOf('a'), { replace: true }).then(() => 'replaced');
const lockRowsOf = (teamId: string) =>
  [
    `select from team where id = '${teamId}' for no key update`,
    ...TENANT_TABLE_NAMES.map(
      (table) => `select from ${table} where team_id = '${teamId}' for update`,
    ),
  ].join('; ');
const assign = (name: string, key = api.key(`team_${name}`)) =>
  api.call(key, 'POST', '/assignments', {
    body: {
      member_id: memberId(name, 'member'),
      title: 'Practise',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
  });
const addEvent = (team: string, id: string) =>
  query(
    `insert into event (team_id, id, type, data, created_at)
     values ($1, $2, 'member.joined', '{}', now())`,
    [team, id],
  );
const countDeliveries = async (team: string, status: string) =>
  (await query('select from webhook_delivery where team_id = $1 and status = $2', [team, status]))
    .length;

describe('while all rows of a team are locked', () => {
  test('the webhooks of others are delivered and recorded; its own follow later', async () => {
    let answer = (): void => undefined;
    receiver.on('/a', (response) => {
      answer = () => response.end('ok');
    });
    await startDeliveries(api, { clock: systemClock });
    await assign('a');
    await receiver.arrived('/a');
    const unlock = await holdLock(api, lockRowsOf('team_a'));
    answer();
    receiver.on('/a', (response) => response.end('ok'));
    await addEvent('team_a', 'evt_meanwhile');
    for (let count = 1; count <= 5; count += 1) {
      await assign('b');
      await until(async () => (await countDeliveries('team_b', 'ok')) === count);
    }
    expect(await countDeliveries('team_a', 'ok')).toBe(0);
    expect(receiver.requestsTo('/a')).toHaveLength(1);
    await unlock();
    await until(async () => (await countDeliveries('team_a', 'ok')) === 2);
    expect(receiver.requestsTo('/a')).toHaveLength(2);
  });

  test.each([
    ['the endpoint, as a PATCH does', `webhook_endpoint where team_id = 'team_a' and id = 'whe_a'`],
    ['the delivery, as its retry does', `webhook_delivery where team_id = 'team_a'`],
  ])('results of others are written, if only %s', async (_case, rows) => {
    const answer = held(status(200));
    receiver.on('/a', answer.behaviour);
    await startDeliveries(api, { clock: systemClock });
    await assign('a');
    await receiver.arrived('/a');
    const unlock = await holdLock(api, `select from ${rows} for no key update`);
    answer.open();
    for (let count = 1; count <= 3; count += 1) {
      await assign('b');
      await until(async () => (await countDeliveries('team_b', 'ok')) === count);
    }
    expect(await countDeliveries('team_a', 'ok')).toBe(0);
    await unlock();
    await until(async () => (await countDeliveries('team_a', 'ok')) === 1);
    expect(receiver.requestsTo('/a')).toHaveLength(1);
  });

  test('attempts stop before very many of its results wait, and go on after that', async () => {
    await startDeliveries(api, { clock: systemClock });
    const unlock = await holdLock(
      api,
      `select from webhook_endpoint
       where team_id = 'team_a' and id = 'whe_a'
       for no key update`,
    );
    await query(
      `insert into event (team_id, id, type, data, created_at)
       select 'team_a', 'evt_' || i, 'member.joined', '{}', now()
       from generate_series(1, 300) i`,
    );
    await receiver.arrived('/a', UNWRITTEN_MAX);
    for (let count = 1; count <= 10; count += 1) {
      await assign('b');
      await until(async () => (await countDeliveries('team_b', 'ok')) === count);
    }
    expect(receiver.requestsTo('/a').length).toBeLessThan(UNWRITTEN_MAX + IN_FLIGHT_MAX);
    await unlock();
    await until(async () => (await countDeliveries('team_a', 'ok')) === 300);
    expect(receiver.requestsTo('/a')).toHaveLength(300);
  });

  test('usage of others is added, and its own is given back', async () => {
    const keys = await query(`select id, team_id from api_key where name = 'full'`);
    const counts = keys.map(({ id, team_id }) => ({
      teamId: team_id as string,
      keyId: id as string,
      day: 20_000,
      count2xx: 3,
      count4xx: 0,
      count429: 0,
      count5xx: 0,
      lastMinute: 0,
      peakPercent: 0,
    }));
    const unlock = await holdLock(api, lockRowsOf('team_a'));
    const busy = await addUsage(api.db, counts);
    expect(busy).toEqual(counts.filter(({ teamId }) => teamId === 'team_a'));
    const read = () => query('select team_id, count_2xx from api_key_usage order by team_id');
    expect(await read()).toEqual([{ team_id: 'team_b', count_2xx: 3 }]);
    await unlock();
    expect(await addUsage(api.db, busy)).toEqual([]);
    expect(await read()).toEqual([
      { team_id: 'team_a', count_2xx: 3 },
      { team_id: 'team_b', count_2xx: 3 },
    ]);
  });

  test('failing endpoints of others are paused, and its own later', async () => {
    await query(
      `update webhook_endpoint set failing_since = '2026-01-01', hourly_failures = '{2026-01-01}'`,
    );
    const pause = () => {
      const at = new Date();
      const silence = { failingUntil: at, failedAfter: new Date(0) };
      return pauseEndpoints(api.db, { ...silence, clock: systemClock, requestId: 'r' });
    };
    const unlock = await holdLock(api, lockRowsOf('team_a'));
    expect(await pause()).toBe(1);
    await unlock();
    expect(await pause()).toBe(1);
  });
});

describe('a replacement', () => {
  const lockRow = (table: string, id: string) =>
    `select from ${table} where team_id = 'team_a' and id = '${id}' for update`;
  const openLoop = async () => {
    const loop = await openLoopDatabase(api.databaseUrl, 'team_a');
    onTestFinished(() => loop.close());
    return loop.db;
  };

  test('leaves results that come meanwhile for later, instead of a deadlock', async () => {
    await addEvent('team_a', 'evt_1');
    await query(
      `insert into webhook_delivery
         (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at, claimed_by)
       values ('team_a', 'whd_1', 'whe_a', 'evt_1', 'member.joined', now(), now(), 7)`,
    );
    await query(
      `insert into webhook_resend
         (team_id, id, endpoint_id, since, total, has_more, created_at)
       values ('team_a', 'whr_1', 'whe_a', now(), 0, false, now())`,
    );
    const loop = await openLoop();
    const unlock = await holdLock(api, lockRow('webhook_resend', 'whr_1'));
    const replacing = replace();
    await untilWaiting(api, 1);
    const result = resultOf('whd_1');
    const write = () => recordAttempts(loop, 7, [result], { skipsLocked: true });
    expect(await write()).toEqual([result]);
    await unlock();
    expect(await replacing).toBe('replaced');
    expect(await write()).toEqual([]);
  });

  test('leaves the fan-out alone, instead of deadlocking with it', async () => {
    await addEvent('team_a', 'evt_1');
    await addEvent('team_b', 'evt_1');
    const unlock = await holdLock(api, lockRow('webhook_endpoint', 'whe_a'));
    const replacing = replace();
    await untilWaiting(api, 1);
    const deliveries = await startDeliveries(api, { clock: systemClock });
    await receiver.arrived('/b');
    await unlock();
    expect(await replacing).toBe('replaced');
    expect(deliveries.errors()).toEqual([]);
  });

  test('does not delay the requests of the team itself that only read', async () => {
    const key = api.key('team_a');
    expect((await api.call(key, 'GET', '/me')).status).toBe(200);
    const unlock = await holdLock(
      api,
      `select from catalog_entry where id = 'sit_cold' for update`,
    );
    const replacing = replace();
    await untilWaiting(api, 1);
    expect((await api.call(key, 'GET', '/me')).status).toBe(200);
    await unlock();
    expect(await replacing).toBe('replaced');
    expect((await api.call(key, 'GET', '/me')).status).toBe(401);
  });
});

const resultOf = (id: string): RecordedAttempt => ({
  teamId: 'team_a',
  id,
  endpointId: 'whe_a',
  isTest: false,
  status: 'ok',
  attempt: 1,
  scheduledAttempts: 1,
  nextTryAt: null,
  wasUrgent: false,
  wasResent: false,
  at: new Date(),
  responseCode: 200,
  responseExcerpt: 'ok',
  responseMs: 1,
  error: null,
});

test('a replacement of a team and its sandbox locks them in the order of everybody', async () => {
  const platform = await platformOf(api);
  const both = makeSeed([makeTeam('a'), makeTeam('a:sandbox')]);
  const replaceBoth = () => loadTestSeed({ url: api.databaseUrl }, both, { replace: true });
  await replaceBoth();
  const unlock = await holdLock(
    api,
    `select from team where id = 'team_a:sandbox' for no key update`,
  );
  const update = codeOf(platform.teams.update.mutate({ team_id: 'team_a', name: 'Next' }));
  await untilWaiting(api, 1);
  const replacement = replaceBoth().then(() => 'replaced');
  await untilWaiting(api, 2);
  await unlock();
  expect(await Promise.all([update, replacement])).toEqual(['ok', 'replaced']);
});
