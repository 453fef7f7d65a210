// What a program does about deliveries that it has missed: the list by pages, and resends. The
// services are those of the app (admin-deliveries.test.ts, admin-resends.test.ts).
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createClient } from '../../src/client/client.ts';
import { resendBatch } from '../../src/features/webhook-deliveries/resend-service.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { auditOfTarget } from '../support/audit.ts';
import {
  api,
  rows,
  startLoop,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';
import { until } from '../support/until.ts';

useStoredDeliveries();

const SINCE = '2026-10-01T00:00:00Z';
const call = (method: string, path: string, options: object = {}, team = 'team_a') =>
  api.call(api.key(team), method, path, options);
const deliveries = (query: string, endpoint = 'whe_1') =>
  call('GET', `/webhook-endpoints/${endpoint}/deliveries${query}`);
const resend = (body: object = { since: SINCE }, endpoint = 'whe_1', headers = {}) =>
  call('POST', `/webhook-endpoints/${endpoint}/resend`, { body, headers });
const progress = async (id: string) => (await call('GET', `/webhook-resends/${id}`)).body;
const batch = (resendId: string) =>
  resendBatch(api.db, systemClock, { teamId: 'team_a', endpointId: 'whe_1', resendId });
const idsOf = ({ body }: { body: { data: { id: string }[] } }) => body.data.map(({ id }) => id);

describe('GET /webhook-endpoints/{endpoint_id}/deliveries', () => {
  test('200: by pages, with the event of each; without a parameter as before', async () => {
    const ids = (await writeDeliveries({ prefix: 'g', count: 5 })).toReversed();
    const newestFirst = ['g00005', 'g00004', 'g00003', 'g00002', 'g00001'];
    expect(ids).toEqual(newestFirst);
    const plain = await deliveries('');
    expect(idsOf(plain)).toEqual(newestFirst);
    expect(Object.keys(plain.body)).toEqual(['data']);
    expect(plain.body.data[0]).not.toHaveProperty('event_id');
    const first = await deliveries(`?since=${SINCE}&limit=2`);
    expect(first.body.data).toEqual(
      ['g00005', 'g00004'].map((id) => ({
        ...plain.body.data.find((one: { id: string }) => one.id === id),
        event_id: `evt_${id}`,
      })),
    );
    const paged = idsOf(first);
    for (let { next_cursor } = first.body; next_cursor !== null;) {
      const { status, body } = await deliveries(`?limit=2&cursor=${next_cursor}`);
      expect(status).toBe(200);
      paged.push(...idsOf({ body }));
      ({ next_cursor } = body);
    }
    expect(paged).toEqual(newestFirst);
  });

  test('a client reads all with a filter, and one page without', async () => {
    await writeDeliveries({ prefix: 'g', count: 5 });
    const { webhooks } = createClient({
      apiKey: api.key('team_a'),
      baseUrl: api.url + BASE_PATH,
    });
    const read = async (filters: { readonly since?: string }) => {
      const input = { endpoint_id: 'whe_1', limit: 2, ...filters };
      const ids: string[] = [];
      for await (const { id } of webhooks.listDeliveries(input)) ids.push(id);
      return ids;
    };
    expect(await read({ since: SINCE })).toEqual([
      'g00005',
      'g00004',
      'g00003',
      'g00002',
      'g00001',
    ]);
    expect(await read({})).toEqual(['g00005', 'g00004']);
  });

  test('200: by status, type and time', async () => {
    await writeDeliveries({ prefix: 'g', count: 2 });
    await writeDeliveries({ prefix: 'r', count: 1, status: 'retrying', type: 'member.removed' });
    await writeDeliveries({
      prefix: 'o',
      count: 1,
      status: 'ok',
      createdAt: '2026-10-02T00:00:00Z',
    });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'e', count: 1 });
    const found = async (query: string) => idsOf(await deliveries(query)).toSorted();
    expect(await found('?status=failed')).toEqual(['g00001', 'g00002', 'r00001']);
    expect(await found('?status=gave_up')).toEqual(['g00001', 'g00002']);
    expect(await found('?status=retrying')).toEqual(['r00001']);
    expect(await found('?status=pending')).toEqual([]);
    expect(await found('?since=2026-10-01T12:00:00Z')).toEqual(['o00001']);
    expect(await found('?until=2026-10-01T12:00:00Z&status=ok')).toEqual([]);
    expect(await found('?event_type=member.removed')).toEqual(['r00001']);
  });

  test('404: an endpoint of another team, or none, with filters, too', async () => {
    await writeDeliveries({ team: 'b', endpoint: 'whe_b', prefix: 'b', count: 1 });
    for (const endpoint of ['whe_b', 'whe_none'])
      expect(await deliveries(`?since=${SINCE}`, endpoint)).toMatchObject({ status: 404 });
    expect(await deliveries(`?since=${SINCE}`)).toMatchObject({
      status: 200,
      body: { data: [], next_cursor: null },
    });
  });

  test.each([
    ['status=lost', 'status'],
    ['event_type=member.join', 'event_type'],
    ['cursor=x', 'cursor'],
  ])('422: %s', async (query, field) => {
    expect(await deliveries(`?${query}`)).toMatchObject({ status: 422, body: { field } });
  });
});

describe('POST /webhook-endpoints/{endpoint_id}/resend', () => {
  test('202: counts, queues all that failed, and shows its progress', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    await writeDeliveries({ prefix: 'r', count: 2, status: 'retrying' });
    await writeDeliveries({ prefix: 'o', count: 2, status: 'ok' });
    const { status, body } = await resend();
    expect({ status, body }).toEqual({
      status: 202,
      body: {
        id: expect.stringMatching(/^whr_/),
        endpoint_id: 'whe_1',
        state: 'running',
        since: '2026-10-01T00:00:00.000Z',
        until: null,
        event_type: null,
        status: null,
        total: 5,
        has_more: false,
        sent: 0,
        reached_at: null,
        created_at: expect.any(String),
        finished_at: null,
      },
    });
    expect(await progress(body.id)).toEqual(body);
    await batch(body.id);
    expect(await progress(body.id)).toMatchObject({ state: 'running', sent: 5 });
    await batch(body.id);
    expect(await progress(body.id)).toMatchObject({
      state: 'done',
      sent: 5,
      finished_at: expect.any(String),
    });
    expect(await rows(`select id from webhook_delivery where resent order by id`)).toHaveLength(5);
    expect(await auditOfTarget(api, 'whe_1')).toContainEqual(
      expect.objectContaining({ action: 'webhook_endpoint.resend_started' }),
    );
  });

  test('202: of one status, one type and a stretch of time', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    await writeDeliveries({ prefix: 'm', count: 2, type: 'member.removed' });
    await writeDeliveries({ prefix: 'r', count: 2, status: 'retrying' });
    await writeDeliveries({ prefix: 'l', count: 2, createdAt: '2026-10-03T00:00:00Z' });
    const wanted = { since: SINCE, until: '2026-10-02T00:00:00Z', event_type: 'member.joined' };
    const { body } = await resend({ ...wanted, status: 'gave_up' });
    expect(body).toMatchObject({ total: 3, status: 'gave_up', event_type: 'member.joined' });
    for (let n = 0; n < 3; n += 1) await batch(body.id);
    expect(await progress(body.id)).toMatchObject({ state: 'done', sent: 3 });
    const sent = await rows('select id from webhook_delivery where resent order by id');
    expect(sent.map(({ id }) => id)).toEqual(['g00001', 'g00002', 'g00003']);
  });

  test('202: without anything that failed it is done at once', async () => {
    expect(await resend()).toMatchObject({ status: 202, body: { state: 'done', total: 0 } });
  });

  test('202: the same Idempotency-Key starts it once', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    const again = () => resend({ since: SINCE }, 'whe_1', { 'idempotency-key': 'k' });
    const [first, second] = [await again(), await again()];
    expect(first.status).toBe(202);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(await rows('select from webhook_resend')).toHaveLength(1);
  });

  test('202: of calls that race, one starts', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    const statuses = await Promise.all([1, 2, 3].map(async () => (await resend()).status));
    expect(statuses.toSorted((a, b) => a - b)).toEqual([202, 409, 409]);
  });

  test('202: a worker sends them', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    const { body } = await resend();
    await batch(body.id);
    await startLoop();
    const arrived = () => rows(`select from webhook_delivery where status = 'ok'`);
    await until(async () => (await arrived()).length === 3);
    expect(await arrived()).toHaveLength(3);
  });

  test('404, 409, 422: what cannot start, and changes nothing', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    await call('PATCH', '/webhook-endpoints/whe_2', { body: { status: 'disabled' } });
    for (const endpoint of ['whe_b', 'whe_none']) {
      const { status, body } = await resend({ since: SINCE }, endpoint);
      expect({ status, body }).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(body).not.toHaveProperty('field');
    }
    const since = SINCE;
    expect(await resend({ since }, 'whe_2')).toMatchObject({
      status: 422,
      body: { field: 'endpoint_id' },
    });
    expect(await resend({})).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'body.since' }] },
    });
    expect(await resend({ since, status: 'ok' })).toMatchObject({
      status: 422,
      body: { field: 'status' },
    });
    expect(await resend({ since, event_type: 'x' })).toMatchObject({
      status: 422,
      body: { field: 'event_type' },
    });
    expect(await rows('select from webhook_resend')).toEqual([]);
    expect((await resend()).status).toBe(202);
    const second = await resend();
    expect(second).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });
});

describe('/webhook-resends/{resend_id}', () => {
  test('POST …/cancel stops it, and a second call changes nothing', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    const { id } = (await resend()).body;
    const cancel = () => call('POST', `/webhook-resends/${id}/cancel`);
    const cancelled = await cancel();
    expect(cancelled).toMatchObject({ status: 200, body: { id, state: 'cancelled', sent: 0 } });
    expect((await cancel()).body).toEqual(cancelled.body);
    await batch(id);
    expect(await rows('select from webhook_delivery where resent')).toEqual([]);
    expect(await progress(id)).toEqual(cancelled.body);
  });

  test('404: of another team, or unknown', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    const { id } = (await resend()).body;
    for (const [team, path] of [
      ['team_b', id],
      ['team_a', 'whr_none'],
    ]) {
      const get = await call('GET', `/webhook-resends/${path}`, {}, team);
      expect(get).toMatchObject({ status: 404 });
      expect(get.body).not.toHaveProperty('field');
      expect(await call('POST', `/webhook-resends/${path}/cancel`, {}, team)).toMatchObject({
        status: 404,
      });
    }
    expect(await progress(id)).toMatchObject({ state: 'running' });
  });
});
