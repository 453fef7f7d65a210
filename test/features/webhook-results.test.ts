// What happens to the results of attempts that the database refuses, or that take it too long.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { cancelSleeping } from '../support/locks.ts';
import { held, startReceiver, status, type Behaviour, type Receiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { changeTriggers } from '../support/shards.ts';
import { until } from '../support/until.ts';

/** The first attempt of an endpoint goes alone, so a batch needs several. */
const ENDPOINTS = ['whe_1', 'whe_2', 'whe_3', 'whe_4', 'whe_5', 'whe_6'];

let api: TestApi;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});

beforeEach(async () => {
  receiver.reset();
  const webhook_endpoints = ENDPOINTS.map((id) => ({
    id,
    url: `${receiver.url}/${id}`,
    events: ['member.joined' as const],
  }));
  api = await startTestApi({
    seed: makeSeed([makeFullTeam('a', { webhook_endpoints })]),
    allowPrivateTargets: true,
  });
});

const query = async (sql: string): Promise<Record<string, unknown>[]> =>
  (await api.db.pool.query(sql)).rows;

/** Has the database do this with the result of one delivery. */
const onBadResult = (what: string) =>
  query(
    `create or replace function bad_result() returns trigger language plpgsql as $$
     begin
       ${what}
       return new;
     end $$`,
  );

/** Has the database call it for each result of the second endpoint. */
const callOnResult = () =>
  changeTriggers(
    api,
    `create trigger bad_result before update of response_code on webhook_delivery for each row
     when (new.endpoint_id = 'whe_2') execute function bad_result()`,
  );
const writeEvent = (id = 'evt_1') =>
  query(
    `insert into event (team_id, id, type, data, created_at)
     values ('team_a', '${id}', 'member.joined', '{}', now())`,
  );
/** How all endpoints answer from now on. */
const on = (behaviour: Behaviour) => {
  for (const id of ENDPOINTS) receiver.on(`/${id}`, behaviour);
};
const allArrived = (count = 1) =>
  Promise.all(ENDPOINTS.map((id) => receiver.arrived(`/${id}`, count)));
const isDone = async (eventId: string): Promise<boolean> =>
  (await query(`select from webhook_delivery where event_id = '${eventId}'`)).length ===
  ENDPOINTS.length;
const notOk = () => query(`select from webhook_delivery where status <> 'ok'`);

test.each([
  ['refuses', `raise exception 'refused';`],
  ['takes too long for', `raise exception 'too long' using errcode = 'query_canceled';`],
])(
  'a result that the database %s is at last alone, and others are written',
  async (_case, what) => {
    await onBadResult(what);
    await callOnResult();
    const answer = held(status(200));
    on(answer.behaviour);
    const deliveries = await startDeliveries(api, { clock: systemClock });
    await writeEvent();
    await allArrived();
    answer.open();
    await until(async () => (await notOk()).length === 1);
    await until(() => deliveries.logged.some((line) => line.includes('refused the result')));
    await onBadResult('');
    await until(async () => (await notOk()).length === 0);
    expect(receiver.requestsTo('/whe_2').length).toBeGreaterThan(1);
  },
);

test('a worker that stops writes its last results, even if that fails at first', async () => {
  await onBadResult(`raise exception 'no space' using errcode = 'disk_full';`);
  await callOnResult();
  const answer = held(status(200));
  on(answer.behaviour);
  // It tries again when the database is repaired, however long that takes.
  const repaired = Promise.withResolvers<void>();
  const wait = (ms: number) => (hasFailed() ? repaired.promise : systemClock.wait(ms));
  const deliveries = await startDeliveries(api, { clock: { ...systemClock, wait } });
  const hasFailed = () => deliveries.logged.some((line) => line.includes('not be written yet'));
  await writeEvent();
  await allArrived();
  let hasStopped = false;
  const stopped = deliveries.stop().then(() => (hasStopped = true));
  // By the end of these, it only waits for the attempts in flight.
  for (let n = 0; n < 20; n += 1) await notOk();
  expect(hasStopped).toBe(false);
  answer.open();
  await until(() => hasStopped || hasFailed());
  await onBadResult('');
  repaired.resolve();
  await stopped;
  expect(await notOk()).toEqual([]);
});

test('a worker that stops writes what somebody has locked until then', async () => {
  const answer = held(status(200));
  on(answer.behaviour);
  const deliveries = await startDeliveries(api, { clock: systemClock });
  await writeEvent();
  await allArrived();
  // The lock ends as soon as the worker has written the other result, and so has put this one off.
  const holder = await api.db.pool.connect();
  await holder.query(
    `begin;
     select from webhook_delivery where team_id = 'team_a' and endpoint_id = 'whe_2' for update`,
  );
  const locked = holder.query(
    `do $$ begin
       while exists (
         select
         from webhook_delivery
         where team_id = 'team_a' and endpoint_id <> 'whe_2' and status <> 'ok'
       ) loop perform pg_sleep(0.01); end loop;
     end $$; commit`,
  );
  const stopped = deliveries.stop();
  answer.open();
  await Promise.all([stopped, locked]);
  holder.release();
  expect(await notOk()).toEqual([]);
});

test('an attempt that begins before the whole batch is written is made once', async () => {
  const deliveries = await startDeliveries(api, { clock: systemClock });
  // With each success an endpoint may have more attempts in flight.
  for (const id of ['evt_w1', 'evt_w2', 'evt_w3']) {
    await writeEvent(id);
    await until(async () => (await isDone(id)) && (await notOk()).length === 0);
  }
  await onBadResult('perform pg_sleep(60);');
  await callOnResult();
  const [answer, again] = [held(status(500)), held(status(200))];
  on(answer.behaviour);
  await writeEvent();
  await allArrived(4);
  // Somebody asks for one more attempt of each.
  await query(`update webhook_delivery set urgent = true where event_id = 'evt_1'`);
  on(again.behaviour);
  answer.open();
  await until(async () => {
    await cancelSleeping(api);
    return deliveries.logged.some((line) => line.includes('refused the result'));
  });
  await allArrived(5);
  // A claim that the loop does not know. Once it is found, the loop has looked for forgotten ones.
  await query(
    `update webhook_delivery
     set status = 'retrying', next_try_at = now(), first_worker = null, claimed_by = (
       select max(claimed_by) from webhook_delivery where team_id = 'team_a' and event_id = 'evt_1'
     )
     where team_id = 'team_a' and event_id = 'evt_w1' and endpoint_id = 'whe_1'`,
  );
  const sent = (id: string, eventId: string): number =>
    receiver.requestsTo(`/${id}`).filter(({ headers }) => headers['svc-event-id'] === eventId)
      .length;
  await until(() => sent('whe_1', 'evt_w1') === 2);
  const others = ENDPOINTS.filter((id) => id !== 'whe_2');
  const counts = others.map((id) => sent(id, 'evt_1'));
  await onBadResult('');
  again.open();
  expect(counts).toEqual(others.map(() => 2));
});
