// Failed deliveries that an admin sends again in the app.
import { describe, expect, test } from 'vitest';
import { fixedClock, systemClock, type Clock } from '../../src/core/clock.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { resendBatch } from '../../src/features/webhook-deliveries/resend-service.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { clockAhead } from '../support/clocks.ts';
import { RETRY_DELAYS_S } from '../support/deliveries.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { platformOf } from '../support/platform.ts';
import { held, status } from '../support/receiver.ts';
import { userId } from '../support/seed.ts';
import {
  api,
  app,
  receiver,
  rows,
  startLoop,
  startResend as start,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';
import { until } from '../support/until.ts';

useStoredDeliveries();

const since = '2026-10-01T00:00:00Z';
const get = (id: string) => app.admin.deliveries.getResend.query({ resend_id: id });
const count = async (where: string): Promise<number> =>
  (await rows(`select count(*)::int as count from webhook_delivery where ${where}`))[0].count;
/** Sends one batch, as the job does. */
const batch = (resendId: string, clock: Clock = systemClock, endpointId = 'whe_1') =>
  resendBatch(api.db, clock, { teamId: 'team_a', endpointId, resendId });
/** Sends batches until the resend is done. */
const batches = async (resendId: string, endpointId = 'whe_1'): Promise<void> => {
  while ((await get(resendId)).state === 'running') await batch(resendId, systemClock, endpointId);
};

test('a batch that breaks off and runs again queues each delivery once', async () => {
  await writeDeliveries({ prefix: 'g', count: 600 });
  await writeDeliveries({
    prefix: 'r',
    count: 100,
    status: 'retrying',
    createdAt: '2026-10-01T01:00:00Z',
  });
  await writeDeliveries({ prefix: 'o', count: 3, createdAt: '2026-09-30T23:00:00Z' });
  await writeDeliveries({ prefix: 'k', count: 3, status: 'ok' });
  await writeDeliveries({ prefix: 'p', count: 3, type: 'ping' });
  await writeDeliveries({ endpoint: 'whe_2', prefix: 'e', count: 3 });
  const others = `id !~ '^[gr]'`;
  const before = await rows(`select * from webhook_delivery where ${others} order by id`);
  const { id, total, sent } = await start();
  expect({ total, sent }).toEqual({ total: 700, sent: 0 });

  // The first batch passes the three tests. The second one has done half of its work when it meets
  // a locked row.
  const release = await holdLock(
    api,
    `select from webhook_delivery where team_id = 'team_a' and id = 'g00590' for update`,
  );
  await batch(id);
  // A batch waits while many of the one before are due.
  await startLoop();
  await until(async () => (await count(`id ~ '^[gr]' and status = 'ok'`)) === 497);
  const cut = batch(id).then(
    () => 'done',
    () => 'broken',
  );
  await untilWaiting(api, 1, '%with scanned as%');
  await endWaiting(api);
  expect(await cut).toBe('broken');
  await release();
  expect(await get(id)).toMatchObject({ state: 'running', sent: 497 });

  await batches(id);
  await until(async () => (await count(`id ~ '^[gr]' and status = 'ok'`)) === 700);
  expect(await get(id)).toMatchObject({
    sent: 700,
    has_more: false,
    finished_at: expect.any(String),
  });
  expect(await count(`id ~ '^g' and attempt = 9 and scheduled_attempts = 8`)).toBe(600);
  expect(await count(`id ~ '^r' and attempt = 2 and scheduled_attempts = 1`)).toBe(100);
  expect(await rows(`select * from webhook_delivery where ${others} order by id`)).toEqual(before);
  expect(
    new Set(receiver.requestsTo('/whe_1').map(({ headers }) => headers['svc-event-id'])).size,
  ).toBe(700);
  expect(receiver.requestsTo('/whe_2')).toEqual([]);
});

test('a resend of one type of event counts and queues no others', async () => {
  await writeDeliveries({ prefix: 'g', count: 4 });
  await writeDeliveries({ prefix: 'm', count: 3, type: 'member.removed' });
  const wanted = { endpoint_id: 'whe_1', since, event_type: 'member.removed' };
  const { total } = await app.admin.deliveries.countResend.query(wanted);
  const [started] = (await app.admin.deliveries.startResend.mutate(wanted)).data;
  expect(total).toBe(3);
  expect(started).toMatchObject({ total: 3, event_type: 'member.removed' });
  const id = started?.id ?? '';
  await batch(id);
  await batch(id);
  expect(await get(id)).toMatchObject({ state: 'done', sent: 3, event_type: 'member.removed' });
  expect(await count(`id ~ '^m' and status = 'retrying'`)).toBe(3);
  expect(await count(`id ~ '^g' and status = 'gave_up'`)).toBe(4);
});

test('a resend of a stretch of time counts and queues nothing before or after it', async () => {
  const write = (prefix: string, createdAt: string) =>
    writeDeliveries({ prefix, count: 2, createdAt });
  await write('b', '2026-09-30T23:59:59.999Z');
  await write('s', '2026-10-01T00:00:00Z');
  await write('e', '2026-10-01T05:59:59.999Z');
  await write('u', '2026-10-01T06:00:00Z');
  const wanted = { endpoint_id: 'whe_1', since, until: '2026-10-01T08:00:00+02:00' };
  expect(await app.admin.deliveries.countResend.query(wanted)).toMatchObject({ total: 4 });
  const [started] = (await app.admin.deliveries.startResend.mutate(wanted)).data;
  expect(started).toMatchObject({ total: 4, until: '2026-10-01T06:00:00.000Z' });
  const id = started?.id ?? '';
  await batch(id);
  await batch(id);
  expect(await get(id)).toMatchObject({ state: 'done', sent: 4 });
  expect(await count(`id ~ '^[se]' and status = 'retrying'`)).toBe(4);
  expect(await count(`id ~ '^[bu]' and status = 'gave_up'`)).toBe(4);
});

// Otherwise the resend of an endpoint that goes on failing would never end.
test.each([undefined, 'member.joined'] as const)(
  'a resend queues nothing that came after its start, of type %s',
  async (event_type) => {
    await writeDeliveries({ prefix: 'g', count: 2 });
    const wanted = { endpoint_id: 'whe_1', since, event_type };
    const [started] = (await app.admin.deliveries.startResend.mutate(wanted)).data;
    const { id = '', created_at = '' } = started ?? {};
    const later = new Date(Date.parse(created_at) + 1);
    await writeDeliveries({ prefix: 'n', count: 3, createdAt: later.toISOString() });
    const afterwards = fixedClock(new Date(later.getTime() + 3_600_000));
    for (let job = 0; job < 2; job += 1) await batch(id, afterwards);
    expect(await get(id)).toMatchObject({ state: 'done', total: 2, sent: 2 });
    expect(await count(`id ~ '^n' and status = 'gave_up'`)).toBe(3);
  },
);

describe('without an endpoint', () => {
  const all = { since };
  const startAll = async () => (await app.admin.deliveries.startResend.mutate(all)).data;

  test('each active endpoint with failures has its own resend', async () => {
    await writeDeliveries({ prefix: 'a', count: 5 });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'b', count: 3 });
    await writeDeliveries({ endpoint: 'whe_3', prefix: 'c', count: 2 });
    await writeDeliveries({ team: 'b', endpoint: 'whe_b', prefix: 'd', count: 4 });
    await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_3'`);
    const counted = {
      total: 8,
      has_more: false,
      paused: [{ endpoint_id: 'whe_3', failed: 2, has_more: false }],
    };
    expect(await app.admin.deliveries.countResend.query(all)).toEqual(counted);
    const started = await startAll();
    expect(started).toMatchObject([
      { endpoint_id: 'whe_1', state: 'running', total: 5, until: null },
      { endpoint_id: 'whe_2', state: 'running', total: 3 },
    ]);
    expect(await auditOf(api, 'team_a')).toMatchObject(
      started.map(({ id, endpoint_id }) => ({
        action: 'webhook_endpoint.resend_started',
        target_id: endpoint_id,
        details: { resend_id: id },
      })),
    );
    for (const { id, endpoint_id } of started) await batches(id, endpoint_id);
    await startLoop();
    await until(async () => (await count(`team_id = 'team_a' and status = 'ok'`)) === 8);
    expect(await count(`id ~ '^[cd]' and status = 'gave_up'`)).toBe(6);
  });

  test('one with a resend in progress is left out, and so is one without failures', async () => {
    await writeDeliveries({ prefix: 'a', count: 5 });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'b', count: 3 });
    await start();
    expect(await app.admin.deliveries.countResend.query(all)).toMatchObject({ total: 3 });
    expect(await startAll()).toMatchObject([{ endpoint_id: 'whe_2', total: 3 }]);
    expect(await startAll()).toEqual([]);
  });

  test('two that start at once give each endpoint one resend', async () => {
    for (const id of ['whe_1', 'whe_2', 'whe_3'])
      await writeDeliveries({ endpoint: id, prefix: id, count: 2 });
    const started = await Promise.all([startAll(), startAll(), startAll()]);
    const endpoints = started.flat().map(({ endpoint_id }) => endpoint_id);
    expect(endpoints.toSorted()).toEqual(['whe_1', 'whe_2', 'whe_3']);
  });
});

test('a cancelled resend attempts the queued deliveries and no others', async () => {
  await writeDeliveries({ prefix: 'g', count: 1200 });
  const { id } = await start();
  await batch(id);
  const cancelled = await app.admin.deliveries.cancelResend.mutate({ resend_id: id });
  expect(cancelled).toMatchObject({
    state: 'cancelled',
    sent: 500,
    finished_at: expect.any(String),
  });
  // One more batch has nothing to do.
  await batch(id);
  expect(await get(id)).toEqual(cancelled);
  await startLoop();
  await until(async () => (await count(`status = 'ok'`)) === 500);
  expect(await count(`status = 'gave_up' and attempt = 8`)).toBe(700);
  expect(await app.admin.deliveries.cancelResend.mutate({ resend_id: id })).toEqual(cancelled);
  expect(await auditOf(api, 'team_a')).toMatchObject([
    {
      action: 'webhook_endpoint.resend_started',
      actor_id: 'mem_a_admin',
      target_id: 'whe_1',
      details: { resend_id: id, total: 1200 },
    },
    {
      action: 'webhook_endpoint.resend_cancelled',
      actor_id: 'mem_a_admin',
      target_id: 'whe_1',
      details: { resend_id: id, sent: 500 },
    },
  ]);
});

test('the next batch does not wait until it is time by the clock of a worker ahead', async () => {
  await writeDeliveries({ prefix: 'g', count: 600 });
  const { id } = await start();
  await batch(id, clockAhead(30_000));
  expect(
    await rows(
      `select run_at <= now() as is_due
       from graphile_worker.jobs
       where task_identifier = 'resend_deliveries'`,
    ),
  ).toEqual([{ is_due: true }]);
});

test('a cancellation waits for the batch that is being queued, and counts it', async () => {
  await writeDeliveries({ prefix: 'g', count: 700 });
  const { id } = await start();
  const worker = await api.db.pool.connect();
  await worker.query('begin');
  await worker.query('update webhook_resend set sent = 500 where id = $1', [id]);
  const cancelling = app.admin.deliveries.cancelResend.mutate({ resend_id: id });
  await untilWaiting(api, 1, '%webhook_resend%');
  await worker.query('commit');
  worker.release();
  expect(await cancelling).toMatchObject({ state: 'cancelled', sent: 500 });
  expect(await get(id)).toMatchObject({ state: 'cancelled', sent: 500 });
});

test('a resend waits while many deliveries are due, and takes at most 10,000', async () => {
  await writeDeliveries({ prefix: 'g', count: 10_020 });
  await writeDeliveries({ endpoint: 'whe_2', prefix: 'e', count: 2 });
  const ofAll = { total: 10_002, has_more: true, paused: [] };
  expect(await app.admin.deliveries.countResend.query({ since })).toEqual(ofAll);
  await rows(`delete from webhook_delivery where endpoint_id = 'whe_2'`);
  const { id, total, has_more } = await start();
  expect({ total, has_more }).toEqual({ total: 10_000, has_more: true });
  await batch(id);
  await batch(id);
  expect(await get(id)).toMatchObject({ sent: 500 });
  while ((await get(id)).state === 'running') {
    await rows(
      `update webhook_delivery
       set status = 'ok', next_try_at = null
       where status = 'retrying'`,
    );
    await batch(id);
  }
  const done = await get(id);
  expect(done).toMatchObject({
    state: 'done',
    sent: 10_000,
    reached_at: '2026-10-01T00:55:33.000Z',
  });
  expect(await count(`status = 'gave_up' and not resent`)).toBe(20);
  await batch(id);
  expect(await get(id)).toEqual(done);
});

// With room for one more it looked at one more only: a job for each of a million deliveries.
test('a resend that is nearly full finds what is left in whole batches', async () => {
  await writeDeliveries({ prefix: 'r', count: 1_200, status: 'retrying' });
  await writeDeliveries({ prefix: 'g', count: 2, createdAt: '2026-10-02T00:00:00Z' });
  const wanted = { endpoint_id: 'whe_1', since, status: 'gave_up' } as const;
  const [started] = (await app.admin.deliveries.startResend.mutate(wanted)).data;
  const id = started?.id ?? '';
  await rows(`update webhook_resend set sent = 9999`);
  for (let job = 0; job < 3; job += 1) await batch(id);
  expect(await get(id)).toMatchObject({ state: 'done', sent: 10_000 });
  expect(await count(`id ~ '^g' and status = 'retrying'`)).toBe(1);
});

test('deliveries that fail again keep their schedule, also if claimed meanwhile', async () => {
  receiver.on('/whe_1', status(500));
  const [gaveUp] = await writeDeliveries({ prefix: 'g', count: 1 });
  const [retrying] = await writeDeliveries({
    prefix: 'r',
    count: 1,
    status: 'retrying',
    attempt: 3,
  });
  const [inHand] = await writeDeliveries({ prefix: 'h', count: 1, status: 'retrying', attempt: 3 });
  const [both] = await writeDeliveries({ prefix: 's', count: 1, status: 'retrying', attempt: 3 });
  const [asked] = await writeDeliveries({ prefix: 'u', count: 1 });
  await rows(`update webhook_delivery set claimed_by = 7 where id = $1`, [inHand]);
  await rows(`update webhook_delivery set urgent = true where id = $1`, [asked]);
  const { id } = await start();
  await batch(id);
  await batch(id);
  expect(await get(id)).toMatchObject({ state: 'done', sent: 5 });
  // Somebody asks for an attempt of one that the resend has marked.
  await rows(`update webhook_delivery set urgent = true where id = $1`, [both]);
  const clock = fixedClock(new Date());
  await startLoop({ clock });
  await until(async () => (await count('attempt in (4, 9)')) === 5);
  const after = await rows(
    `select id, status, attempt, scheduled_attempts as scheduled,
       round(extract(epoch from next_try_at - $1))::int as wait_s
     from webhook_delivery
     order by id`,
    [clock.now()],
  );
  expect(after).toEqual([
    { id: gaveUp, status: 'gave_up', attempt: 9, scheduled: 8, wait_s: null },
    ...[inHand, retrying, both].map((each) => ({
      id: each,
      status: 'retrying',
      attempt: 4,
      scheduled: 3,
      wait_s: RETRY_DELAYS_S[2],
    })),
    { id: asked, status: 'gave_up', attempt: 9, scheduled: 8, wait_s: null },
  ]);
});

test('a second resend before the first was attempted uses up no retry', async () => {
  receiver.on('/whe_1', status(500));
  await writeDeliveries({ prefix: 'r', count: 10, status: 'retrying', attempt: 2 });
  for (let n = 0; n < 3; n += 1) {
    const { id } = await start();
    await batches(id);
  }
  const clock = fixedClock(new Date());
  await startLoop({ clock });
  await until(async () => (await count('attempt = 3')) === 10);
  expect(await count(`status = 'retrying'`)).toBe(10);
  // Six retries are left: those after 5 min, 30 min, 2 h, 6 h, 12 h and 24 h.
  for (const [index, waitS] of RETRY_DELAYS_S.slice(1).entries()) {
    clock.advance(waitS * 1000);
    await until(async () => (await count(`attempt = ${index + 4}`)) === 10);
  }
  expect(await count(`status = 'gave_up' and attempt = 9`)).toBe(10);
});

test('a resend whose endpoint is paused half way sends nothing until it is active', async () => {
  const gate = held(status(500));
  receiver.on('/whe_1', gate.behaviour);
  await writeDeliveries({ prefix: 'r', count: 700, status: 'retrying' });
  await rows(`update webhook_delivery set next_try_at = now()`);
  await startLoop();
  await receiver.arrived('/whe_1', 1);
  // The resend marks the delivery in flight, too.
  const { id } = await start();
  await rows(`update webhook_delivery set next_try_at = now() + interval '1 hour'`);
  await batch(id);
  const setStatus = async (wanted: string): Promise<void> => {
    const body = { status: wanted };
    const path = '/webhook-endpoints/whe_1';
    expect((await api.call(api.key('team_a'), 'PATCH', path, { body })).status).toBe(200);
  };
  await setStatus('disabled');
  gate.open();
  await until(async () => (await count('attempt = 2')) === 1);
  await batch(id);
  expect(await get(id)).toMatchObject({ state: 'running', sent: 500 });
  for (const control of ['c', 'd']) {
    await writeDeliveries({ endpoint: 'whe_2', prefix: control, count: 1, status: 'retrying' });
    await rows(`update webhook_delivery set next_try_at = now() where id ~ $1`, [`^${control}`]);
    await until(async () => (await count(`id ~ '^${control}' and status = 'ok'`)) === 1);
  }
  expect(receiver.requestsTo('/whe_1')).toHaveLength(1);

  receiver.on('/whe_1', status(200));
  await setStatus('active');
  await until(async () => {
    await batch(id);
    return (await get(id)).state === 'done';
  });
  await until(async () => (await count(`id ~ '^r' and status = 'ok'`)) === 700);
  expect(receiver.requestsTo('/whe_1')).toHaveLength(701);
});

// What the event holds was allowed when it happened.
test.each([
  [
    'the privacy switch is off',
    () => rows(`update team set member_detail_enabled = false where id = 'team_a'`),
  ],
  [
    'the person was deleted',
    async () =>
      (await platformOf(api)).members.deletePerson.mutate({
        team_id: 'team_a',
        user_id: userId('a', 'member'),
      }),
  ],
])('a delivery that is sent again names nobody once %s', async (_when, hide) => {
  const full = { team_id: 'team_a', training_id: 'trn_1', user_id: userId('a', 'member') };
  const type = 'evaluation.completed';
  const [resent] = await writeDeliveries({ prefix: 'g', count: 1, type });
  const [retried] = await writeDeliveries({ prefix: 'r', count: 1, type });
  const [scheduled] = await writeDeliveries({ prefix: 's', count: 1, type, status: 'retrying' });
  await rows('update event set data = $1', [{ ...full, score: 71 }]);
  await hide();
  // An earlier worker has claimed it before.
  receiver.on('/whe_1', status(500));
  await rows('update webhook_delivery set urgent = true where id = $1', [retried]);
  await rows(
    `update webhook_delivery
     set status = 'retrying', next_try_at = now() - interval '1 s', scheduled_attempts = 2,
       resent = true
     where id = $1`,
    [resent],
  );
  const clock = fixedClock(new Date());
  await startLoop({ clock });
  await until(async () => (await count('attempt = 9')) === 2);
  clock.advance(86_400_000);
  await until(async () => (await count('attempt > 9 or (attempt > 1 and attempt < 9)')) >= 2);
  const sent = receiver.requestsTo('/whe_1').map(({ body }) => JSON.parse(body.toString()));
  const dataOf = (id = '') =>
    sent.filter((each) => each.id === `evt_${id}`).map(({ data }) => data);
  const shown = { team_id: 'team_a', training_id: 'trn_1' };
  expect(dataOf(retried)).toEqual([shown]);
  // Also at the scheduled attempt that follows a resend.
  expect(dataOf(resent).slice(0, 2)).toEqual([shown, shown]);
  // The schedule of the event sends the same bytes at every attempt.
  expect(dataOf(scheduled)[0]).toEqual({ ...full, score: 71 });
});

test('an endpoint has one resend at a time, and none while it is paused', async () => {
  await writeDeliveries({ prefix: 'g', count: 5 });
  await writeDeliveries({ endpoint: 'whe_2', prefix: 'e', count: 5 });
  const codes = await Promise.all([codeOf(start()), codeOf(start()), codeOf(start('whe_2'))]);
  expect(codes.toSorted()).toEqual(['conflict', 'ok', 'ok']);
  await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_3'`);
  expect(await codeOf(start('whe_3'))).toBe('validation_error');
});

test('an empty resend is done at once; ended resends are removed after 30 days', async () => {
  const resend = await start();
  expect(resend).toMatchObject({ state: 'done', total: 0, sent: 0, reached_at: null });
  expect(
    await rows(`select
      from pending_job
      where task = 'resend_deliveries'`),
  ).toEqual([]);
  await rows(`update webhook_resend set finished_at = now() - interval '31 days'`);
  expect(await removeOld(api.db, systemClock)).toMatchObject({ resends: 1 });
  expect(await codeOf(get(resend.id))).toBe('not_found');
});

test('a resend is deleted with its endpoint', async () => {
  await writeDeliveries({ prefix: 'g', count: 5 });
  const { id } = await start();
  expect((await api.call(api.key('team_a'), 'DELETE', '/webhook-endpoints/whe_1')).status).toBe(
    200,
  );
  await batch(id);
  expect(await codeOf(get(id))).toBe('not_found');
});

test('while the failed deliveries are counted, no endpoint is locked', async () => {
  await writeDeliveries({ prefix: 'g', count: 3 });
  const release = await holdLock(api, lockWhole('webhook_delivery'));
  const starting = start();
  await untilWaiting(api, 1);
  // Of one team: on Citus rows of several shards cannot be locked by one statement.
  const free = await rows(
    `select id from webhook_endpoint where team_id = 'team_a' for update skip locked`,
  );
  expect(free).toHaveLength(3);
  await release();
  expect(await starting).toMatchObject({ total: 3 });
});

test('a resend is counted before it starts, and listed afterwards', async () => {
  await writeDeliveries({ prefix: 'g', count: 5 });
  await writeDeliveries({ prefix: 'o', count: 3, createdAt: '2026-09-30T23:00:00Z' });
  await writeDeliveries({ prefix: 'k', count: 3, status: 'ok' });
  await writeDeliveries({ prefix: 'p', count: 3, type: 'ping' });
  await writeDeliveries({ endpoint: 'whe_2', prefix: 'e', count: 2 });
  const { countResend, listResends } = app.admin.deliveries;
  const counted = { total: 5, has_more: false, paused: [] };
  expect(await countResend.query({ endpoint_id: 'whe_1', since })).toEqual(counted);
  expect(await listResends.query({})).toEqual({ data: [] });
  const first = await start();
  const second = await start('whe_2');
  expect((await listResends.query({})).data.map(({ id }) => id).toSorted()).toEqual(
    [first.id, second.id].toSorted(),
  );
  // Nothing was sent by counting.
  expect(await count(`attempt > 0 and id ~ '^g'`)).toBe(await count(`id ~ '^g'`));
  const other = await appAsMember(api, 'b', 'owner');
  expect(await other.admin.deliveries.listResends.query({})).toEqual({ data: [] });
  expect(
    await codeOf(other.admin.deliveries.countResend.query({ endpoint_id: 'whe_1', since })),
  ).toBe('not_found');
});

test("another team's ids look like unknown ones", async () => {
  await writeDeliveries({ prefix: 'g', count: 5 });
  const { id } = await start();
  const other = await appAsMember(api, 'b', 'owner');
  const { startResend, getResend, cancelResend } = other.admin.deliveries;
  for (const resendId of [id, 'whr_nothing']) {
    expect(await codeOf(getResend.query({ resend_id: resendId }))).toBe('not_found');
    expect(await codeOf(cancelResend.mutate({ resend_id: resendId }))).toBe('not_found');
  }
  for (const endpointId of ['whe_1', 'whe_nothing'])
    expect(await codeOf(startResend.mutate({ endpoint_id: endpointId, since }))).toBe('not_found');
  expect(await get(id)).toMatchObject({ state: 'running' });
  const member = await appAsMember(api, 'a', 'member');
  expect(
    await codeOf(member.admin.deliveries.startResend.mutate({ endpoint_id: 'whe_1', since })),
  ).toBe('forbidden');
});
