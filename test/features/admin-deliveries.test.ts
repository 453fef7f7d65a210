// Deliveries in the app, over the real tRPC API: the list, and one with its request and attempts.
import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { RETRY_DELAYS_S } from '../support/deliveries.ts';
import { inTurn, status } from '../support/receiver.ts';
import {
  api,
  app,
  receiver,
  rows,
  startLoop,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';
import { until } from '../support/until.ts';

useStoredDeliveries();

describe('the list of deliveries', () => {
  const list = (input: Parameters<typeof app.admin.deliveries.list.query>[0] = {}) =>
    app.admin.deliveries.list.query({ limit: 200, ...input });
  const ids = async (input: Parameters<typeof list>[0]) =>
    (await list(input)).data.map(({ id }) => id);

  test("shows deliveries to all of the team's endpoints, newest first, with filters", async () => {
    await writeDeliveries({ team: 'b', endpoint: 'whe_b', prefix: 'b', count: 5 });
    const one = await writeDeliveries({ endpoint: 'whe_1', prefix: 'x', count: 20 });
    const two = await writeDeliveries({ endpoint: 'whe_2', prefix: 'y', count: 20, status: 'ok' });
    const three = await writeDeliveries({
      endpoint: 'whe_3',
      prefix: 'z',
      count: 20,
      status: 'retrying',
      type: 'member.removed',
    });
    const waiting = await writeDeliveries({
      endpoint: 'whe_1',
      prefix: 'p',
      count: 1,
      status: 'pending',
    });
    const place = (id: string) =>
      `${String(Math.floor((Number(id.slice(1)) - 1) / 3)).padStart(3, '0')} ${id}`;
    const newestFirst = (...lists: string[][]) =>
      lists.flat().toSorted((a, b) => (place(a) < place(b) ? 1 : -1));
    expect(await ids({})).toEqual(newestFirst(one, two, three, waiting));
    expect(await ids({ status: 'gave_up' })).toEqual(newestFirst(one));
    expect(await ids({ status: 'retrying' })).toEqual(newestFirst(three));
    expect(await ids({ status: 'ok' })).toEqual(newestFirst(two));
    expect((await ids({ status: 'failed' })).toSorted()).toEqual([...one, ...three].toSorted());
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

  test('pages neither repeat nor skip deliveries while others come, go and change', async () => {
    const all = await writeDeliveries({ endpoint: 'whe_1', prefix: 'x', count: 40 });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'y', count: 10 });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { data, next_cursor } = await list({ limit: 7, cursor });
      seen.push(...data.map(({ id }) => id));
      await writeDeliveries({
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

  test('refuses the cursor of another list, and members who are not admins', async () => {
    const { next_cursor } = await app.v1.members.list.query({ limit: 1 });
    expect(await codeOf(list({ cursor: next_cursor ?? '' }))).toBe('validation_error');
    const member = await appAsMember(api, 'a', 'member');
    expect(await codeOf(member.admin.deliveries.list.query({}))).toBe('forbidden');
  });
});

describe('one delivery', () => {
  test('shows the bytes and headers that the receiver got, and every attempt', async () => {
    receiver.on('/whe_1', inTurn(status(500, 'no'), status(503), status(200, 'yes')));
    const clock = fixedClock(new Date());
    await startLoop({ clock });
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
    const { headers } = detail.request;
    const unknown = {
      'svc-signature': 't=<unix_time>,v1=<hex>',
      'webhook-timestamp': '<unix_time>',
      'webhook-signature': 'v1,<base64>',
    };
    expect(headers).toMatchObject(unknown);
    expect({ ...got[0]?.headers, ...unknown }).toMatchObject(headers);
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
    expect(
      await rows(
        `select jsonb_array_length(failed_attempts) as kept from webhook_delivery where id = $1`,
        [id],
      ),
    ).toEqual([{ kept: 2 }]);
  });

  test('keeps its last ten failed attempts, and none if the first one succeeds', async () => {
    const [id = ''] = await writeDeliveries({ prefix: 'x', count: 1, attempt: 8 });
    receiver.on('/whe_1', status(500));
    await startLoop();
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
    expect(
      await rows('select failed_attempts from webhook_delivery where id = $1', [ping.id]),
    ).toEqual([{ failed_attempts: null }]);
  });

  test('shows no body that names a person while member details are off', async () => {
    const [plain = ''] = await writeDeliveries({ prefix: 'x', count: 1 });
    const [personal = ''] = await writeDeliveries({ prefix: 'y', count: 1 });
    await rows(
      `update event
       set data = '{"team_id":"team_a","member_id":"mem_1","user_id":null}'
       where id = 'evt_' || $1`,
      [personal],
    );
    const bodyOf = async (id: string) =>
      (await app.admin.deliveries.get.query({ delivery_id: id })).request.body;
    expect(JSON.parse((await bodyOf(personal)) ?? '')).toMatchObject({ data: { user_id: null } });
    await rows('update team set member_detail_enabled = false');
    expect(await bodyOf(personal)).toBeNull();
    expect(JSON.parse((await bodyOf(plain)) ?? '')).toMatchObject({ data: { member_id: 'mem_1' } });
  });

  test("is not found if it is unknown or another team's", async () => {
    const [foreign = ''] = await writeDeliveries({
      team: 'b',
      endpoint: 'whe_b',
      prefix: 'b',
      count: 1,
    });
    for (const id of [foreign, 'whd_nothing'])
      expect(await codeOf(app.admin.deliveries.get.query({ delivery_id: id }))).toBe('not_found');
  });
});

describe('the health of endpoints', () => {
  const health = () => app.admin.deliveries.health.query({});
  const quiet = { arrived: [], days: [], median_ms: null, failed: 0, waiting: 0 };

  test('is that of the last hundred deliveries, the last day, and what waits', async () => {
    const before = new Date(Date.now() - 25 * 60 * 60 * 1000).toISOString();
    const lately = new Date(Date.now() - 60 * 60 * 1000).toISOString();
    await writeDeliveries({ endpoint: 'whe_1', prefix: 'o', count: 30, createdAt: before });
    await writeDeliveries({
      endpoint: 'whe_1',
      prefix: 'x',
      count: 88,
      status: 'ok',
      createdAt: lately,
    });
    const others = { endpoint: 'whe_1', createdAt: new Date().toISOString() };
    await writeDeliveries({ ...others, prefix: 'y', count: 3 });
    await writeDeliveries({ ...others, prefix: 'z', count: 2, status: 'retrying' });
    await writeDeliveries({ ...others, prefix: 'p', count: 4, status: 'pending' });
    await writeDeliveries({ team: 'b', endpoint: 'whe_b', prefix: 'b', count: 5 });
    await rows(
      `update webhook_delivery
       set response_code = 200, response_ms = substr(id, 2)::int
       where id like 'x%'`,
    );
    const { data } = await health();
    expect(data).toEqual([
      {
        endpoint_id: 'whe_1',
        url: `${receiver.url}/whe_1`,
        description: null,
        status: 'active',
        secret_unconfirmed_since: null,
        arrived: expect.any(Array) as unknown,
        days: expect.any(Array) as unknown,
        median_ms: 44,
        failed: 5,
        waiting: 6,
        has_more: [],
      },
      expect.objectContaining({ ...quiet, endpoint_id: 'whe_2', has_more: [] }),
      expect.objectContaining({ ...quiet, endpoint_id: 'whe_3', has_more: [] }),
    ]);
    // The pending ones are four of the hundred. What failed since came after what arrived.
    const outcomes = data[0]?.arrived ?? [];
    expect(outcomes).toHaveLength(96);
    expect(outcomes.slice(3, 91)).toEqual(Array.from({ length: 88 }, () => true));
    expect(outcomes.slice(91)).toEqual([false, false, false, false, false]);
  });

  test('counts the last deliveries by their UTC day', async () => {
    const at = (createdAt: string) => ({ endpoint: 'whe_1', createdAt });
    await writeDeliveries({ ...at('2026-10-01T23:59:50Z'), prefix: 'a', count: 2, status: 'ok' });
    await writeDeliveries({ ...at('2026-10-01T12:00:00Z'), prefix: 'b', count: 1 });
    await writeDeliveries({ ...at('2026-10-02T00:00:00Z'), prefix: 'c', count: 3 });
    await writeDeliveries({
      ...at('2026-10-02T01:00:00Z'),
      prefix: 'd',
      count: 1,
      status: 'pending',
    });
    expect((await health()).data[0]?.days).toEqual([
      { day: '2026-10-01', arrived: 2, failed: 1 },
      { day: '2026-10-02', arrived: 0, failed: 3 },
    ]);
  });

  test('counts the time of answers only', async () => {
    await rows(`update webhook_endpoint set url = 'http://127.0.0.1:9/' where id = 'whe_1'`);
    await startLoop();
    const test = (id: string) =>
      api.call(api.key('team_a'), 'POST', `/webhook-endpoints/${id}/test`);
    for (let n = 0; n < 3; n += 1) await test('whe_1');
    const ofOne = async () => (await health()).data[0];
    await until(async () => (await ofOne())?.arrived.length === 3);
    expect((await ofOne())?.median_ms).toBeNull();
    const [other = ''] = await writeDeliveries({ endpoint: 'whe_1', prefix: 'x', count: 1 });
    await rows(
      `update webhook_delivery
       set status = 'ok', response_code = 200, response_ms = 800
       where id = $1`,
      [other],
    );
    expect((await ofOne())?.median_ms).toBe(800);
  });

  test('says where it has stopped counting', async () => {
    const now = new Date().toISOString();
    await writeDeliveries({ endpoint: 'whe_1', prefix: 'x', count: 1_001, createdAt: now });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'p', count: 600, status: 'pending' });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'r', count: 600, status: 'retrying' });
    await writeDeliveries({ endpoint: 'whe_3', prefix: 'q', count: 1_000, status: 'pending' });
    const { data } = await health();
    expect(data).toMatchObject([
      { failed: 1_000, waiting: 0, has_more: ['failed'] },
      { failed: 0, waiting: 1_000, has_more: ['waiting'] },
      { failed: 0, waiting: 1_000, has_more: [] },
    ]);
  });

  test('is shown to admins only', async () => {
    const member = await appAsMember(api, 'a', 'member');
    expect(await codeOf(member.admin.deliveries.health.query({}))).toBe('forbidden');
  });
});

describe('the backlog of an endpoint', () => {
  const backlog = (endpoint_id: string) => app.admin.deliveries.backlog.query({ endpoint_id });
  const retryAt = (prefix: string, place: string) =>
    rows(`update webhook_delivery set next_try_at = now() + ${place} where id like '${prefix}%'`);

  test('tells what waits for the first time, and when the rest is tried again', async () => {
    const now = new Date().toISOString();
    const waiting = { endpoint: 'whe_1', createdAt: now, status: 'retrying' };
    await writeDeliveries({ ...waiting, prefix: 'p', count: 4, status: 'pending' });
    await writeDeliveries({ ...waiting, prefix: 'd', count: 1 });
    await writeDeliveries({ ...waiting, prefix: 'm', count: 2 });
    await writeDeliveries({ ...waiting, prefix: 'h', count: 3 });
    await writeDeliveries({ ...waiting, prefix: 'w', count: 5 });
    await writeDeliveries({ ...waiting, prefix: 'o', count: 7, endpoint: 'whe_2' });
    await retryAt('d', `interval '-1 minute'`);
    await retryAt('m', `interval '4 minutes'`);
    await retryAt('h', `interval '5 hours'`);
    await retryAt('w', `interval '7 days'`);
    const { first, again, has_more } = await backlog('whe_1');
    expect([first, has_more]).toEqual([4, false]);
    expect(again.filter(({ count }) => count > 0)).toEqual([
      { within_s: 0, count: 1 },
      { within_s: 300, count: 2 },
      { within_s: 21_600, count: 3 },
      { within_s: null, count: 5 },
    ]);
  });

  test('is nothing once the endpoint is deleted, whatever of it is still stored', async () => {
    const now = new Date().toISOString();
    const row = { prefix: 'x', count: 2, status: 'pending', createdAt: now };
    await writeDeliveries({ ...row, endpoint: 'whe_gone' });
    const { first, again, has_more } = await backlog('whe_gone');
    expect([first, has_more]).toEqual([0, false]);
    expect(again.filter(({ count }) => count > 0)).toEqual([]);
  });

  test('says that there are more than are counted, and nothing of other teams', async () => {
    const now = new Date().toISOString();
    const many = { prefix: 'r', count: 1_001, status: 'retrying', createdAt: now };
    await writeDeliveries({ ...many, endpoint: 'whe_3' });
    const { first, again, has_more } = await backlog('whe_3');
    const [shown] = (await app.admin.deliveries.health.query({})).data.filter(
      ({ endpoint_id }) => endpoint_id === 'whe_3',
    );
    const sum = again.reduce((total, { count }) => total + count, 0);
    expect([first, sum, has_more]).toEqual([0, 1_000, true]);
    expect(shown).toMatchObject({ waiting: sum, has_more: ['failed', 'waiting'] });
    await writeDeliveries({ ...many, prefix: 's', team: 'b', endpoint: 'whe_b' });
    const nothing = await backlog('whe_b');
    expect([nothing.first, nothing.has_more]).toEqual([0, false]);
    expect(nothing).toEqual(await backlog('whe_unknown'));
  });
});
