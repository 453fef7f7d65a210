// Deliveries in the app, over the real door: the list, one with its request and attempts, and failed ones sent again by real workers.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock, systemClock } from '../../src/core/clock.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { resendBatch } from '../../src/features/webhook-deliveries/resend-service.ts';
import {
  startTestApi,
  startWorkerProcess,
  type RunningProcess,
  type TestApi,
} from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { RETRY_DELAYS_S, startDeliveries } from '../support/deliveries.ts';
import { untilNoneWaits, untilWaiting } from '../support/locks.ts';
import { hang, inTurn, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let receiver: Receiver;
let app: Awaited<ReturnType<typeof appAsMember>>;
let workers: RunningProcess[];

beforeEach(async () => {
  workers = [];
  receiver = await startReceiver();
  const endpoint = (id: string) => ({
    id,
    url: `${receiver.url}/${id}`,
    events: ['member.joined' as const],
  });
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', { webhook_endpoints: ['whe_1', 'whe_2', 'whe_3'].map(endpoint) }),
      makeTeam('b', { webhook_endpoints: [endpoint('whe_b')] }),
    ]),
  });
  app = await appAsMember(api, 'a', 'admin');
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  await api.stop();
  await receiver.stop();
});

const rows = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;

interface Written {
  readonly team?: string;
  readonly endpoint?: string;
  readonly prefix: string;
  readonly count: number;
  readonly status?: string;
  readonly type?: string;
  readonly attempt?: number;
  /** Of the first; each of the following is a second younger, three of each second. */
  readonly createdAt?: string;
}

/** Deliveries `<prefix>0001` … with their events, as an earlier worker left them. */
async function write(fields: Written): Promise<string[]> {
  const {
    team = 'a',
    endpoint = 'whe_1',
    prefix,
    count,
    status: state = 'gave_up',
    type = 'member.joined',
  } = fields;
  const {
    attempt = state === 'pending' ? 0 : state === 'gave_up' ? 8 : 1,
    createdAt = '2026-10-01T00:00:00Z',
  } = fields;
  await rows(
    `with e as (insert into event (team_id, id, type, data, created_at, fanned_out_at)
       select 'team_' || $1, 'evt_' || $3 || lpad(n::text, 5, '0'), $5, '{"team_id":"team_a","member_id":"mem_1"}', $7::timestamptz + (n - 1) / 3 * interval '1 second', now() from generate_series(1, $4::int) n
       returning team_id, id, created_at)
     insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at, last_attempt_at)
     select team_id, substr(id, 5), $2, id, $5, $6, $8, created_at, case when $6 in ('pending', 'retrying') then now() + interval '1 hour' end, case when $8::int > 0 then now() end from e`,
    [team, endpoint, prefix, count, type, state, createdAt, attempt],
  );
  return Array.from({ length: count }, (_, n) => `${prefix}${String(n + 1).padStart(5, '0')}`);
}

async function startWorker(): Promise<RunningProcess> {
  const worker = await startWorkerProcess(api.databaseUrl, { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' });
  workers.push(worker);
  return worker;
}

describe('the list of deliveries', () => {
  const list = (input: Parameters<typeof app.admin.deliveries.list.query>[0] = {}) =>
    app.admin.deliveries.list.query({ limit: 200, ...input });
  const ids = async (input: Parameters<typeof list>[0]) =>
    (await list(input)).data.map(({ id }) => id);

  test("shows those of all of the team's endpoints, newest first, and filters them", async () => {
    await write({ team: 'b', endpoint: 'whe_b', prefix: 'b', count: 5 });
    const one = await write({ endpoint: 'whe_1', prefix: 'x', count: 20 });
    const two = await write({ endpoint: 'whe_2', prefix: 'y', count: 20, status: 'ok' });
    const three = await write({
      endpoint: 'whe_3',
      prefix: 'z',
      count: 20,
      status: 'retrying',
      type: 'member.removed',
    });
    const waiting = await write({ endpoint: 'whe_1', prefix: 'p', count: 1, status: 'pending' });
    const place = (id: string) =>
      `${String(Math.floor((Number(id.slice(1)) - 1) / 3)).padStart(3, '0')} ${id}`;
    const newestFirst = (...lists: string[][]) =>
      lists.flat().toSorted((a, b) => (place(a) < place(b) ? 1 : -1));
    expect(await ids({})).toEqual(newestFirst(one, two, three, waiting));
    expect(await ids({ status: 'gave_up' })).toEqual(newestFirst(one));
    expect(await ids({ status: 'retrying' })).toEqual(newestFirst(three));
    expect(await ids({ status: 'ok' })).toEqual(newestFirst(two));
    expect(await ids({ status: 'pending' })).toEqual(waiting);
    expect(await ids({ event_type: 'member.removed' })).toEqual(newestFirst(three));
    expect(await ids({ endpoint_id: 'whe_1' })).toEqual(newestFirst(one, waiting));
    expect(
      await ids({ endpoint_id: 'whe_1', status: 'gave_up', event_type: 'member.joined' }),
    ).toEqual(newestFirst(one));
    expect(await ids({ endpoint_id: 'whe_b' })).toEqual([]);
    const range = { since: '2026-10-01T02:00:02+02:00', until: '2026-10-01T00:00:04Z' };
    const within = newestFirst(one, two, three).filter((id) =>
      [7, 8, 9, 10, 11, 12].includes(Number(id.slice(1))),
    );
    expect(await ids(range)).toEqual(within);
    expect(await ids({ ...range, endpoint_id: 'whe_2', status: 'ok' })).toEqual(
      within.filter((id) => id[0] === 'y'),
    );
  });

  test('pages neither repeat nor skip one that stays while others come, go and change', async () => {
    const all = await write({ endpoint: 'whe_1', prefix: 'x', count: 40 });
    await write({ endpoint: 'whe_2', prefix: 'y', count: 10 });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { data, next_cursor } = await list({ limit: 7, cursor });
      seen.push(...data.map(({ id }) => id));
      await write({
        endpoint: 'whe_3',
        prefix: `n${seen.length}`,
        count: 2,
        createdAt: '2026-10-02T00:00:00Z',
      });
      await rows(`delete from webhook_delivery where id = $1`, [data.at(-1)?.id]);
      await rows(`update webhook_delivery set status = 'ok' where id = $1`, [data[0]?.id]);
      cursor = next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen.filter((id) => id.startsWith('x')).toSorted()).toEqual(all);
    expect(new Set(seen).size).toBe(50);
  });

  test('refuses a cursor of another list, and members who are no admins', async () => {
    const { next_cursor } = await app.v1.members.list.query({ limit: 1 });
    expect(await codeOf(list({ cursor: next_cursor ?? '' }))).toBe('validation_error');
    const member = await appAsMember(api, 'a', 'member');
    expect(await codeOf(member.admin.deliveries.list.query({}))).toBe('forbidden');
  });
});

describe('one delivery', () => {
  test('has the bytes and headers that the receiver got, and every attempt', async () => {
    receiver.on('/whe_1', inTurn(status(500, 'no'), status(503), status(200, 'yes')));
    const clock = fixedClock(new Date());
    await startDeliveries(api, { clock });
    await api.call(api.key('team_a'), 'POST', '/users', { body: { email: 'new@a.test' } });
    const find = async () =>
      (await app.admin.deliveries.list.query({ endpoint_id: 'whe_1' })).data[0];
    for (const attempt of [1, 2]) {
      await until(async () => (await find())?.attempt === attempt);
      clock.advance((RETRY_DELAYS_S[attempt - 1] ?? 0) * 1000);
    }
    const { id } = await until(async () => ((await find())?.status === 'ok' ? find() : null));
    const detail = await app.admin.deliveries.get.query({ delivery_id: id });
    const got = receiver.requestsTo('/whe_1');
    for (const { body } of got) expect(body.toString()).toBe(detail.request.body);
    const { 'svc-signature': signature, ...headers } = detail.request.headers;
    expect(got[0]?.headers).toMatchObject(headers);
    expect(signature).toBe('t=<unix_time>,v1=<hex>');
    expect(detail).toMatchObject({
      status: 'ok',
      attempt: 3,
      endpoint_id: 'whe_1',
      request: { method: 'POST', url: `${receiver.url}/whe_1` },
      attempts: [
        { attempt: 3, response_code: 200, error: null },
        { attempt: 2, response_code: 503, error: null },
        { attempt: 1, response_code: 500, error: null },
      ],
    });
    expect(await rows('select attempt from webhook_attempt order by attempt')).toEqual([
      { attempt: 1 },
      { attempt: 2 },
    ]);
  });

  test('keeps the last ten failed attempts; one that succeeds at once keeps none', async () => {
    const [id = ''] = await write({ prefix: 'x', count: 1, attempt: 8 });
    receiver.on('/whe_1', status(500));
    await startDeliveries(api, { clock: systemClock });
    for (let attempt = 9; attempt <= 20; attempt += 1) {
      expect(
        (await api.call(api.key('team_a'), 'POST', `/webhook-deliveries/${id}/retry`)).status,
      ).toBe(202);
      await until(
        async () => (await app.admin.deliveries.get.query({ delivery_id: id })).attempt === attempt,
      );
    }
    const { attempts } = await app.admin.deliveries.get.query({ delivery_id: id });
    expect(attempts.map(({ attempt }) => attempt)).toEqual([
      20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
    ]);
    await api.call(api.key('team_a'), 'POST', '/webhook-endpoints/whe_2/test');
    await receiver.arrived('/whe_2');
    const ping = await until(
      async () => (await app.admin.deliveries.list.query({ status: 'ok' })).data[0],
    );
    expect((await app.admin.deliveries.get.query({ delivery_id: ping.id })).attempts).toHaveLength(
      1,
    );
    expect(await rows('select from webhook_attempt where delivery_id = $1', [ping.id])).toEqual([]);
  });

  test("shows no body that names a person while the team's details are off", async () => {
    const [plain = ''] = await write({ prefix: 'x', count: 1 });
    const [personal = ''] = await write({ prefix: 'y', count: 1 });
    await rows(
      `update event set data = '{"team_id":"team_a","member_id":"mem_1","user_id":null}' where id = 'evt_' || $1`,
      [personal],
    );
    const bodyOf = async (id: string) =>
      (await app.admin.deliveries.get.query({ delivery_id: id })).request.body;
    expect(JSON.parse((await bodyOf(personal)) ?? '')).toMatchObject({ data: { user_id: null } });
    await rows('update team set member_detail_enabled = false');
    expect(await bodyOf(personal)).toBeNull();
    expect(JSON.parse((await bodyOf(plain)) ?? '')).toMatchObject({ data: { member_id: 'mem_1' } });
  });

  test("another team's and unknown ones: as if they never existed", async () => {
    const [foreign = ''] = await write({ team: 'b', endpoint: 'whe_b', prefix: 'b', count: 1 });
    for (const id of [foreign, 'whd_nothing'])
      expect(await codeOf(app.admin.deliveries.get.query({ delivery_id: id }))).toBe('not_found');
  });
});

describe('failed deliveries sent again', () => {
  const since = '2026-10-01T00:00:00Z';
  const start = (endpointId = 'whe_1') =>
    app.admin.deliveries.startResend.mutate({ endpoint_id: endpointId, since });
  const get = (id: string) => app.admin.deliveries.getResend.query({ resend_id: id });
  const count = async (where: string): Promise<number> =>
    (await rows(`select count(*)::int as count from webhook_delivery where ${where}`))[0].count;
  /** One batch, as the job does it. */
  const batch = (resendId: string) =>
    resendBatch(api.db, systemClock, { teamId: 'team_a', endpointId: 'whe_1', resendId });

  test('killed in the middle of a batch, another worker goes on: each is queued once, and nothing else is', async () => {
    await write({ prefix: 'g', count: 700 });
    await write({ prefix: 'r', count: 500, status: 'retrying', createdAt: '2026-10-01T01:00:00Z' });
    await write({ prefix: 'o', count: 3, createdAt: '2026-09-30T23:00:00Z' });
    await write({ prefix: 'k', count: 3, status: 'ok' });
    await write({ prefix: 'p', count: 3, type: 'ping' });
    await write({ endpoint: 'whe_2', prefix: 'e', count: 3 });
    const others = `id !~ '^[gr]'`;
    const before = await rows(`select * from webhook_delivery where ${others} order by id`);
    const { id, total, sent } = await start();
    expect({ total, sent }).toEqual({ total: 1200, sent: 0 });

    // The second batch meets a row that somebody holds, with half of its work done.
    const holder = await api.db.pool.connect();
    await holder.query('begin');
    await holder.query(`select from webhook_delivery where id = 'g00690' for update`);
    const victim = await startWorker();
    await untilWaiting(api, 1, '%with picked as%');
    expect(await get(id)).toMatchObject({ state: 'running', sent: 500 });
    await victim.kill('SIGKILL');
    await holder.query('rollback');
    holder.release();
    await untilNoneWaits(api, '%with picked as%');
    expect(await get(id)).toMatchObject({ state: 'running', sent: 500 });

    await startWorker();
    await until(async () => (await get(id)).state === 'done');
    await until(async () => (await count(`id ~ '^[gr]' and status = 'ok'`)) === 1200);
    expect(await get(id)).toMatchObject({
      sent: 1200,
      has_more: false,
      finished_at: expect.any(String),
    });
    expect(await count(`id ~ '^g' and attempt = 9 and extra_attempts = 1`)).toBe(700);
    expect(await count(`id ~ '^r' and attempt = 2 and extra_attempts = 1`)).toBe(500);
    expect(await rows(`select * from webhook_delivery where ${others} order by id`)).toEqual(
      before,
    );
    expect(
      new Set(receiver.requestsTo('/whe_1').map(({ headers }) => headers['svc-event-id'])).size,
    ).toBe(1200);
    expect(receiver.requestsTo('/whe_2')).toEqual([]);
  }, 60_000);

  test('cancelled: what is queued is attempted, nothing else is', async () => {
    receiver.on('/whe_1', hang);
    await write({ prefix: 'g', count: 1200 });
    const { id } = await start();
    await startWorker();
    await until(async () => (await get(id)).sent > 0);
    const cancelled = await app.admin.deliveries.cancelResend.mutate({ resend_id: id });
    expect(cancelled).toMatchObject({
      state: 'cancelled',
      sent: 500,
      finished_at: expect.any(String),
    });
    await until(
      async () =>
        (await rows(`select from graphile_worker.jobs where task_identifier = 'resend_deliveries'`))
          .length === 0,
    );
    // Should one more batch be asked for, it finds that there is nothing to do.
    await batch(id);
    expect(await get(id)).toEqual(cancelled);
    expect(await count(`status = 'gave_up'`)).toBe(700);
    expect(await app.admin.deliveries.cancelResend.mutate({ resend_id: id })).toEqual(cancelled);
    const audited = await rows(
      `select action, actor_id, details from audit_log where target_id = 'whe_1' order by created_at, id`,
    );
    expect(audited).toMatchObject([
      {
        action: 'webhook_endpoint.resend_started',
        actor_id: 'mem_a_admin',
        details: { resend_id: id, total: 1200 },
      },
      {
        action: 'webhook_endpoint.resend_cancelled',
        actor_id: 'mem_a_admin',
        details: { resend_id: id, sent: 500 },
      },
    ]);
  });

  test('waits while many are due, and takes no more than 10,000', async () => {
    await write({ prefix: 'g', count: 10_020 });
    const { id, total, has_more } = await start();
    expect({ total, has_more }).toEqual({ total: 10_000, has_more: true });
    await batch(id);
    await batch(id);
    expect(await get(id)).toMatchObject({ sent: 500 });
    while ((await get(id)).state === 'running') {
      await rows(
        `update webhook_delivery set status = 'ok', next_try_at = null where status = 'retrying'`,
      );
      await batch(id);
    }
    const done = await get(id);
    expect(done).toMatchObject({
      state: 'done',
      sent: 10_000,
      reached_at: '2026-10-01T00:55:33.000Z',
    });
    expect(await count(`status = 'gave_up' and extra_attempts = 0`)).toBe(20);
    await batch(id);
    expect(await get(id)).toEqual(done);
  });

  test('that fail again keep the schedule they had; one in hand is attempted once more', async () => {
    receiver.on('/whe_1', status(500));
    const [gaveUp] = await write({ prefix: 'g', count: 1 });
    const [retrying] = await write({ prefix: 'r', count: 1, status: 'retrying', attempt: 3 });
    const [inHand] = await write({ prefix: 'h', count: 1, status: 'retrying', attempt: 3 });
    const [asked] = await write({ prefix: 'u', count: 1 });
    await rows(`update webhook_delivery set claimed_by = 7 where id = $1`, [inHand]);
    await rows(`update webhook_delivery set urgent = true where id = $1`, [asked]);
    const { id } = await start();
    await batch(id);
    await batch(id);
    expect(await get(id)).toMatchObject({ state: 'done', sent: 4 });
    const clock = fixedClock(new Date());
    await startDeliveries(api, { clock });
    await until(async () => (await count('attempt in (4, 9)')) === 4);
    const after = await rows(
      `select id, status, attempt, extra_attempts as extra, round(extract(epoch from next_try_at - $1))::int as wait_s from webhook_delivery order by id`,
      [clock.now()],
    );
    expect(after).toEqual([
      { id: gaveUp, status: 'gave_up', attempt: 9, extra: 1, wait_s: null },
      // It keeps the time it had.
      {
        id: inHand,
        status: 'retrying',
        attempt: 4,
        extra: 1,
        wait_s: expect.toSatisfy((s) => s > 3500 && s <= 3600),
      },
      { id: retrying, status: 'retrying', attempt: 4, extra: 1, wait_s: RETRY_DELAYS_S[2] },
      { id: asked, status: 'gave_up', attempt: 9, extra: 1, wait_s: null },
    ]);
  });

  test('one at a time for an endpoint, and not while it is paused', async () => {
    await write({ prefix: 'g', count: 5 });
    await write({ endpoint: 'whe_2', prefix: 'e', count: 5 });
    const codes = await Promise.all([codeOf(start()), codeOf(start()), codeOf(start('whe_2'))]);
    expect(codes.toSorted()).toEqual(['conflict', 'ok', 'ok']);
    await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_3'`);
    expect(await codeOf(start('whe_3'))).toBe('validation_error');
  });

  test('with nothing to send it is done at once; one that ended is removed after 30 days', async () => {
    const resend = await start();
    expect(resend).toMatchObject({ state: 'done', total: 0, sent: 0, reached_at: null });
    expect(
      await rows(`select from graphile_worker.jobs where task_identifier = 'resend_deliveries'`),
    ).toEqual([]);
    await rows(`update webhook_resend set finished_at = now() - interval '31 days'`);
    expect(await removeOld(api.db, systemClock)).toMatchObject({ resends: 1 });
    expect(await codeOf(get(resend.id))).toBe('not_found');
  });

  test('goes with its endpoint', async () => {
    await write({ prefix: 'g', count: 5 });
    const { id } = await start();
    expect((await api.call(api.key('team_a'), 'DELETE', '/webhook-endpoints/whe_1')).status).toBe(
      200,
    );
    await batch(id);
    expect(await codeOf(get(id))).toBe('not_found');
  });

  test("another team's and unknown ids: as if they never existed", async () => {
    await write({ prefix: 'g', count: 5 });
    const { id } = await start();
    const other = await appAsMember(api, 'b', 'owner');
    const { startResend, getResend, cancelResend } = other.admin.deliveries;
    for (const resendId of [id, 'whr_nothing']) {
      expect(await codeOf(getResend.query({ resend_id: resendId }))).toBe('not_found');
      expect(await codeOf(cancelResend.mutate({ resend_id: resendId }))).toBe('not_found');
    }
    for (const endpointId of ['whe_1', 'whe_nothing'])
      expect(await codeOf(startResend.mutate({ endpoint_id: endpointId, since }))).toBe(
        'not_found',
      );
    expect(await get(id)).toMatchObject({ state: 'running' });
    const member = await appAsMember(api, 'a', 'member');
    expect(
      await codeOf(member.admin.deliveries.startResend.mutate({ endpoint_id: 'whe_1', since })),
    ).toBe('forbidden');
  });
});
