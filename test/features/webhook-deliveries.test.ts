import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import Stripe from 'stripe';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type ApiResponse, type CallOptions, type TestApi } from '../support/api.ts';
import { RETRY_DELAYS_S, startDeliveries, type Deliveries } from '../support/deliveries.ts';
import {
  held,
  inTurn,
  startReceiver,
  status,
  type Behaviour,
  type Received,
  type Receiver,
} from '../support/receiver.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

const T0 = new Date('2026-11-02T09:00:00.000Z');
const clock = fixedClock(T0);
const TEAMS = 80;

let api: TestApi;
let receiver: Receiver;
let deliveries: Deliveries;
let team = '';
let teams = 0;

beforeAll(async () => {
  const names = Array.from({ length: TEAMS }, (_, index) => `t${index}`);
  receiver = await startReceiver();
  api = await startTestApi({
    seed: makeSeed(
      [...names, 'foreign', 'control'].map((name) => makeFullTeam(name, { webhook_endpoints: [] })),
    ),
    clock,
    allowPrivateTargets: true,
  });
  deliveries = await startDeliveries(api, { clock });
  control = await createEndpoint(status(500), { team: 'team_control' });
});

// Each test has a team of its own, so nobody else's events come to its endpoints.
beforeEach(() => {
  team = `team_t${teams}`;
  teams += 1;
});

interface Endpoint {
  readonly id: string;
  readonly secret: string;
  /** Where it is at the receiver. */
  readonly path: string;
  readonly team: string;
}

/** A delivery as the API shows it. */
interface Shown {
  readonly id: string;
  readonly attempt: number;
  readonly status: string;
  readonly event_type: string;
  readonly next_try_at: string | null;
  readonly [field: string]: unknown;
}

const call = (method: string, path: string, options: CallOptions = {}, of = team) =>
  api.call(api.key(of), method, path, options);
const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;

let paths = 0;
async function createEndpoint(
  behaviour: Behaviour = status(200, 'ok'),
  options: { readonly team?: string; readonly events?: string[] } = {},
): Promise<Endpoint> {
  const of = options.team ?? team;
  const path = `/hook${(paths += 1)}`;
  receiver.on(path, behaviour);
  const body = { url: receiver.url + path, events: options.events ?? ['member.joined'] };
  const created = await call('POST', '/webhook-endpoints', { body }, of);
  return { id: created.body.id, secret: created.body.secret, path, team: of };
}

/** Raises `member.joined`, by inviting somebody. */
const raise = (of = team): Promise<ApiResponse> =>
  call('POST', '/users', { body: { email: `someone${(paths += 1)}@example.test` } }, of);
const list = async (endpoint: Endpoint): Promise<Shown[]> =>
  (await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries?limit=200`, {}, endpoint.team))
    .body.data;
const retry = (delivery: Shown, options: CallOptions = {}) =>
  call('POST', `/webhook-deliveries/${delivery.id}/retry`, options);
const ping = (endpoint: Endpoint, options: CallOptions = {}) =>
  call('POST', `/webhook-endpoints/${endpoint.id}/test`, options, endpoint.team);
const setStatus = (endpoint: Endpoint, to: 'active' | 'disabled') =>
  call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { status: to } });
const pause = (endpoint: Endpoint) =>
  query(`update webhook_endpoint set status = 'disabled_failures' where team_id = $1 and id = $2`, [
    endpoint.team,
    endpoint.id,
  ]);
const get = async (endpoint: Endpoint) =>
  (await call('GET', '/webhook-endpoints', {}, endpoint.team)).body.data.find(
    (shown: { id: string }) => shown.id === endpoint.id,
  );

/** The endpoint's newest delivery, once so many attempts of it are written down. */
const attempted = (endpoint: Endpoint, attempt = 1): Promise<Shown> =>
  until(async () =>
    (await list(endpoint)).find((delivery, index) => index === 0 && delivery.attempt >= attempt),
  );

let control: Endpoint;
/** Resolves when the loop has looked for what is due at this moment, and attempted something that was: what was not attempted by then is not due. */
async function everythingDueIsAttempted(): Promise<void> {
  if ((await list(control)).length === 0) await raise(control.team);
  const { attempt } = await attempted(control);
  const due = `update webhook_delivery set status = 'retrying', next_try_at = $1, urgent = false where team_id = 'team_control'`;
  for (const more of [1, 2]) {
    await query(due, [clock.now()]);
    await attempted(control, attempt + more);
  }
}

/** A delivery to the endpoint that has failed so many times. */
async function failed(endpoint: Endpoint, attempts: number): Promise<Shown> {
  await raise();
  let delivery = await attempted(endpoint);
  for (const delayS of RETRY_DELAYS_S.slice(0, attempts - 1)) {
    clock.advance(delayS * 1000);
    delivery = await attempted(endpoint, delivery.attempt + 1);
  }
  return delivery;
}

const json = (request: Received | undefined) => JSON.parse(request?.body.toString() ?? 'null');

describe('POST /webhook-endpoints/{endpoint_id}/test', () => {
  test('202: a pending delivery, whose ping comes within seconds and whose outcome is in the list under its id', async () => {
    const endpoint = await createEndpoint();
    const queued = await ping(endpoint);
    expect(queued).toMatchObject({
      status: 202,
      body: { delivery_id: expect.stringMatching(/^whd_/), status: 'pending' },
    });
    expect(Object.keys(queued.body)).toEqual(['delivery_id', 'status']);
    const delivery = await attempted(endpoint);
    expect(delivery).toMatchObject({
      id: queued.body.delivery_id,
      status: 'ok',
      event_type: 'ping',
      attempt: 1,
    });
    const [request] = receiver.requestsTo(endpoint.path);
    expect(json(request)).toMatchObject({
      type: 'ping',
      tenant_id: team,
      data: { team_id: team, endpoint_id: endpoint.id },
    });
    expect(request?.headers['svc-event-id']).toBe(json(request).id);
  });

  test('202: a ping that fails is retried like any other event', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(204)));
    await ping(endpoint);
    expect(await attempted(endpoint)).toMatchObject({ status: 'retrying', event_type: 'ping' });
    clock.advance(60_000);
    expect(await attempted(endpoint, 2)).toMatchObject({ status: 'ok' });
  });

  test('202: a ping goes to this endpoint only, whoever else the team has', async () => {
    const [endpoint, other] = [await createEndpoint(), await createEndpoint()];
    await ping(endpoint);
    await attempted(endpoint);
    expect(await list(other)).toEqual([]);
    expect(receiver.requestsTo(other.path)).toEqual([]);
  });

  test('202: with an Idempotency-Key it is sent once, however often it is asked for', async () => {
    const endpoint = await createEndpoint();
    const headers = { 'idempotency-key': 'ping once' };
    const first = await ping(endpoint, { headers });
    await attempted(endpoint);
    const second = await ping(endpoint, { headers });
    expect(second).toMatchObject({
      status: 202,
      text: first.text,
      headers: { 'idempotency-replayed': 'true' },
    });
    expect(await list(endpoint)).toHaveLength(1);
    const other = await createEndpoint();
    expect(await ping(other, { headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
    expect(await list(other)).toEqual([]);
  });

  test('202: it is logged, with the delivery and without the URL', async () => {
    const endpoint = await createEndpoint();
    const { delivery_id } = (await ping(endpoint)).body;
    const audit = await query(
      `select details from audit_log where team_id = $1 and target_id = $2 and action = 'webhook_endpoint.tested'`,
      [team, endpoint.id],
    );
    expect(audit).toEqual([{ details: { delivery_id } }]);
  });
});

describe('POST /webhook-deliveries/{delivery_id}/retry', () => {
  test('202: the delivery as it was before the attempt, which then follows at once', async () => {
    const endpoint = await createEndpoint(inTurn(status(500, 'down'), status(200, 'up')));
    const delivery = await failed(endpoint, 1);
    const answer = await retry(delivery);
    expect(answer).toMatchObject({ status: 202, body: delivery });
    expect(await attempted(endpoint, 2)).toMatchObject({
      id: delivery.id,
      status: 'ok',
      attempt: 2,
      response_code: 200,
      response_excerpt: 'up',
      next_try_at: null,
    });
  });

  test('202: with an Idempotency-Key it is attempted once, however often it is asked for', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    const headers = { 'idempotency-key': 'retry once' };
    const first = await retry(delivery, { headers });
    await attempted(endpoint, 2);
    expect(await retry(delivery, { headers })).toMatchObject({
      status: 202,
      text: first.text,
      headers: { 'idempotency-replayed': 'true' },
    });
    await everythingDueIsAttempted();
    expect(await attempted(endpoint)).toMatchObject({ attempt: 2, status: 'retrying' });
  });

  test('202: it is logged', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    await retry(delivery);
    const audit = await query(
      `select actor_kind, target_id from audit_log where team_id = $1 and action = 'webhook_delivery.retried'`,
      [team],
    );
    expect(audit).toEqual([{ actor_kind: 'api_key', target_id: delivery.id }]);
  });

  test('422 field delivery_id: a delivery that is ok has nothing to be retried', async () => {
    const endpoint = await createEndpoint();
    await raise();
    const delivery = await attempted(endpoint);
    expect(await retry(delivery)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'delivery_id' },
    });
    await everythingDueIsAttempted();
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
  });

  test('422 field delivery_id: a pending delivery is attempted anyway', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    const [delivery] = await list(endpoint);
    expect(delivery).toMatchObject({ status: 'pending', attempt: 0 });
    expect(await retry(delivery as Shown)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'delivery_id' },
    });
    answer.open();
    expect(await attempted(endpoint)).toMatchObject({ status: 'ok', attempt: 1 });
  });

  test('asked for while the scheduled attempt is under way, it is made after that one failed', async () => {
    const answer = held(status(500));
    const endpoint = await createEndpoint(inTurn(status(500), answer.behaviour, status(200)));
    const delivery = await failed(endpoint, 1);
    clock.advance(60_000);
    await receiver.arrived(endpoint.path, 2);
    expect((await retry(delivery)).status).toBe(202);
    answer.open();
    expect(await attempted(endpoint, 3)).toMatchObject({ status: 'ok', attempt: 3 });
  });

  test('asked for while the scheduled attempt is under way, it is not made when that one succeeded', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(inTurn(status(500), answer.behaviour));
    const delivery = await failed(endpoint, 1);
    clock.advance(60_000);
    await receiver.arrived(endpoint.path, 2);
    expect((await retry(delivery)).status).toBe(202);
    answer.open();
    await attempted(endpoint, 2);
    await everythingDueIsAttempted();
    expect(await attempted(endpoint)).toMatchObject({ status: 'ok', attempt: 2 });
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(2);
  });
});

describe('GET /webhook-endpoints/{endpoint_id}/deliveries', () => {
  test('200: every field of a delivery, and nothing else', async () => {
    const endpoint = await createEndpoint(status(503, 'later'));
    await raise();
    const delivery = await attempted(endpoint);
    expect(delivery).toEqual({
      id: expect.stringMatching(/^whd_/),
      attempt: 1,
      status: 'retrying',
      event_type: 'member.joined',
      created_at: clock.now().toISOString(),
      next_try_at: new Date(clock.now().getTime() + 60_000).toISOString(),
      response_code: 503,
      response_excerpt: 'later',
      response_ms: expect.any(Number),
      error: null,
    });
  });

  test('200: newest first, as many as limit says, and no cursor', async () => {
    const endpoint = await createEndpoint();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      clock.advance(1000);
      ids.unshift((await ping(endpoint)).body.delivery_id);
    }
    expect((await list(endpoint)).map(({ id }) => id)).toEqual(ids);
    const two = await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries?limit=2`);
    expect(two.body.data.map(({ id }: Shown) => id)).toEqual(ids.slice(0, 2));
    expect(Object.keys(two.body)).toEqual(['data']);
  });

  test('200: an endpoint without deliveries has an empty list', async () => {
    expect(await list(await createEndpoint())).toEqual([]);
  });

  test.each(['0', '201', '1.5', 'ten', ''])('422: limit=%s', async (limit) => {
    const endpoint = await createEndpoint();
    expect(
      await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries?limit=${limit}`),
    ).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'query.limit' }] },
    });
  });
});

describe('test, retry and deliveries', () => {
  test('403: need webhooks:manage', async () => {
    const asked = [
      ['POST', '/webhook-endpoints/x/test'],
      ['POST', '/webhook-deliveries/x/retry'],
      ['GET', '/webhook-endpoints/x/deliveries'],
    ] as const;
    for (const [method, path] of asked)
      expect(await api.call(api.key(team, 'users:read'), method, path)).toMatchObject({
        status: 403,
        body: { code: 'insufficient_scope', required_scope: 'webhooks:manage' },
      });
  });

  test("404: another team's endpoint and delivery look like ones that never existed, and nothing is sent", async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    const asked = (endpointId: string, deliveryId: string) => [
      ['POST', `/webhook-endpoints/${endpointId}/test`] as const,
      ['POST', `/webhook-deliveries/${deliveryId}/retry`] as const,
      ['GET', `/webhook-endpoints/${endpointId}/deliveries`] as const,
    ];
    const unknown = asked('whe_unknown', 'whd_unknown');
    for (const [index, [method, path]] of asked(endpoint.id, delivery.id).entries()) {
      const foreign = await call(method, path, {}, 'team_foreign');
      const missing = await call(method, unknown[index]?.[1] ?? '', {}, 'team_foreign');
      expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect({ ...foreign.body, request_id: null }).toEqual({ ...missing.body, request_id: null });
    }
    await everythingDueIsAttempted();
    expect(await list(endpoint)).toHaveLength(1);
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
    expect(
      await query(
        `select from audit_log where team_id = 'team_foreign' and action like 'webhook%'`,
      ),
    ).toEqual([]);
  });
});

describe('the states of a delivery', () => {
  test.each([200, 201, 202, 204, 206, 299])(
    'any → ok: a response with the status %i',
    async (code) => {
      const endpoint = await createEndpoint(status(code));
      await raise();
      expect(await attempted(endpoint)).toMatchObject({
        status: 'ok',
        attempt: 1,
        response_code: code,
        next_try_at: null,
        error: null,
      });
      expect((await get(endpoint)).last_success_at).toBe(clock.now().toISOString());
    },
  );

  test.each([300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    'any → retried: a response with the status %i',
    async (code) => {
      const endpoint = await createEndpoint(
        status(code, undefined, { location: `${receiver.url}/elsewhere` }),
      );
      await raise();
      expect(await attempted(endpoint)).toMatchObject({
        status: 'retrying',
        attempt: 1,
        response_code: code,
        error: null,
      });
      expect((await get(endpoint)).last_success_at).toBeNull();
      expect(receiver.requestsTo('/elsewhere')).toEqual([]);
    },
  );

  test('retried after 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h, not a moment earlier, then gave_up', async () => {
    const endpoint = await createEndpoint(status(500));
    await raise();
    let delivery = await attempted(endpoint);
    for (const delayS of RETRY_DELAYS_S) {
      expect(delivery).toMatchObject({
        status: 'retrying',
        next_try_at: new Date(clock.now().getTime() + delayS * 1000).toISOString(),
      });
      clock.advance(delayS * 1000 - 1);
      await everythingDueIsAttempted();
      expect(receiver.requestsTo(endpoint.path)).toHaveLength(delivery.attempt);
      clock.advance(1);
      delivery = await attempted(endpoint, delivery.attempt + 1);
    }
    expect(delivery).toMatchObject({
      status: 'gave_up',
      attempt: 8,
      next_try_at: null,
      response_code: 500,
    });
    clock.advance(30 * 86_400_000);
    await everythingDueIsAttempted();
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(8);
  });

  test('retrying → ok: a retry that succeeds ends it', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(500), status(200, 'at last')));
    expect(await failed(endpoint, 3)).toMatchObject({
      status: 'ok',
      attempt: 3,
      response_excerpt: 'at last',
      next_try_at: null,
    });
  });

  test('retrying → attempted immediately by POST retry; when that fails, it keeps its schedule', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 2);
    clock.advance(10_000);
    await retry(delivery);
    expect(await attempted(endpoint, 3)).toMatchObject({
      status: 'retrying',
      attempt: 3,
      next_try_at: delivery.next_try_at,
    });
    clock.set(new Date(delivery.next_try_at ?? ''));
    const next = await attempted(endpoint, 4);
    expect(next.next_try_at).toBe(new Date(clock.now().getTime() + 1_800_000).toISOString());
  });

  test('gave_up → attempted immediately by POST retry; it stays gave_up when that fails, and is ok when it succeeds', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 8);
    await retry(delivery);
    expect(await attempted(endpoint, 9)).toMatchObject({
      status: 'gave_up',
      attempt: 9,
      next_try_at: null,
    });
    receiver.on(endpoint.path, status(200));
    await retry(delivery);
    expect(await attempted(endpoint, 10)).toMatchObject({ status: 'ok', attempt: 10 });
  });

  test('Retry-After of a 429 or 503 lengthens the wait, of no other status', async () => {
    for (const [code, waitS] of [
      [429, 3600],
      [503, 3600],
      [500, 60],
    ] as const) {
      const endpoint = await createEndpoint(status(code, '', { 'retry-after': '3600' }), {
        events: ['member.removed'],
      });
      await ping(endpoint);
      expect((await attempted(endpoint)).next_try_at).toBe(
        new Date(clock.now().getTime() + waitS * 1000).toISOString(),
      );
    }
    const endpoint = await createEndpoint(status(429, '', { 'retry-after': '5' }));
    await ping(endpoint);
    expect((await attempted(endpoint)).next_try_at).toBe(
      new Date(clock.now().getTime() + 60_000).toISOString(),
    );
  });
});

describe('the state of an endpoint', () => {
  test.each(['disabled', 'disabled_failures'])(
    '%s: no delivery is created for what happens meanwhile, nor later',
    async (state) => {
      const [endpoint, active] = [await createEndpoint(), await createEndpoint()];
      if (state === 'disabled') await setStatus(endpoint, 'disabled');
      else await pause(endpoint);
      await raise();
      await attempted(active);
      await setStatus(endpoint, 'active');
      await everythingDueIsAttempted();
      expect(await list(endpoint)).toEqual([]);
      await raise();
      expect(await attempted(endpoint)).toMatchObject({ status: 'ok' });
      expect(await list(endpoint)).toHaveLength(1);
    },
  );

  test.each(['disabled', 'disabled_failures'])(
    '%s: waiting deliveries are held, and go on at once when it is active again',
    async (state) => {
      const endpoint = await createEndpoint(inTurn(status(500), status(200)));
      const delivery = await failed(endpoint, 1);
      if (state === 'disabled') await setStatus(endpoint, 'disabled');
      else await pause(endpoint);
      clock.advance(7 * 86_400_000);
      await everythingDueIsAttempted();
      expect(await attempted(endpoint)).toEqual(delivery);
      await setStatus(endpoint, 'active');
      expect(await attempted(endpoint, 2)).toMatchObject({
        id: delivery.id,
        status: 'ok',
        attempt: 2,
      });
    },
  );

  test('disabled → active: what is not due yet keeps its time', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    await setStatus(endpoint, 'disabled');
    clock.advance(30_000);
    await setStatus(endpoint, 'active');
    await everythingDueIsAttempted();
    expect(await attempted(endpoint)).toEqual(delivery);
    clock.advance(30_000);
    expect((await attempted(endpoint, 2)).attempt).toBe(2);
  });

  test.each(['disabled', 'disabled_failures'])(
    '%s: a test event is delivered, and does not reactivate it',
    async (state) => {
      const endpoint = await createEndpoint();
      if (state === 'disabled') await setStatus(endpoint, 'disabled');
      else await pause(endpoint);
      await ping(endpoint);
      expect(await attempted(endpoint)).toMatchObject({ status: 'ok', event_type: 'ping' });
      expect(await get(endpoint)).toMatchObject({ status: state, last_success_at: null });
    },
  );

  test('disabled_failures: an attempt that is asked for is made, and its success does not reactivate it', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(200)));
    const delivery = await failed(endpoint, 1);
    await pause(endpoint);
    await retry(delivery);
    expect(await attempted(endpoint, 2)).toMatchObject({ status: 'ok' });
    expect(await get(endpoint)).toMatchObject({ status: 'disabled_failures' });
  });

  test('deleted: its waiting deliveries are dropped and never sent', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    expect((await call('DELETE', `/webhook-endpoints/${endpoint.id}`)).status).toBe(200);
    clock.advance(86_400_000);
    await everythingDueIsAttempted();
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
    expect(await query('select from webhook_delivery where team_id = $1', [team])).toEqual([]);
    expect((await retry(delivery)).status).toBe(404);
    expect((await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`)).status).toBe(404);
  });

  test('deleted: the result of what is in flight is discarded, and nothing fails', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    expect((await call('DELETE', `/webhook-endpoints/${endpoint.id}`)).status).toBe(200);
    answer.open();
    const other = await createEndpoint();
    await raise();
    expect(await attempted(other)).toMatchObject({ status: 'ok' });
    expect(await query('select id from webhook_delivery where team_id = $1', [team])).toHaveLength(
      1,
    );
    expect(deliveries.logged).toEqual([]);
  });

  test('deleted: at the very moment in which a result is written, neither waits for the other in vain', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    const holder = await api.db.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhook_delivery where team_id = $1 for update', [team]);
    answer.open();
    await waiting(1);
    const deleted = call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    await waiting(2);
    await holder.query('rollback');
    holder.release();
    expect((await deleted).status).toBe(200);
    expect(deliveries.logged).toEqual([]);
  });

  test('url changed: the next attempt of a waiting delivery goes to the new one', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    const moved = `${endpoint.path}/moved`;
    await call('PATCH', `/webhook-endpoints/${endpoint.id}`, {
      body: { url: receiver.url + moved },
    });
    clock.advance(60_000);
    expect(await attempted(endpoint, 2)).toMatchObject({ id: delivery.id, status: 'ok' });
    expect(receiver.requestsTo(moved)).toHaveLength(1);
  });
});

/** Until so many statements wait for a lock. */
const waiting = (count: number) =>
  until(
    async () =>
      (
        await query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length >= count,
  );

describe('what a receiver gets', () => {
  test('is the envelope of the specification, in its order', async () => {
    const endpoint = await createEndpoint();
    const { id } = (await raise()).body;
    const [request] = await receiver.arrived(endpoint.path);
    expect(request?.method).toBe('POST');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'svc-signature': expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
    });
    expect(json(request)).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'member.joined',
      created_at: clock.now().toISOString(),
      api_version: '2026-11',
      tenant_id: team,
      data: { team_id: team, member_id: id, role: 'member', user_id: null },
    });
    expect(Object.keys(json(request))).toEqual([
      'id',
      'type',
      'created_at',
      'api_version',
      'tenant_id',
      'data',
    ]);
    expect(request?.headers['svc-event-id']).toBe(json(request).id);
  });

  test('is the same bytes at every attempt, under the same event id, each signed anew', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(500), status(200)));
    await failed(endpoint, 3);
    const requests = receiver.requestsTo(endpoint.path);
    expect(requests).toHaveLength(3);
    for (const { body, headers } of requests) {
      expect(body.equals(requests[0]?.body ?? Buffer.alloc(0))).toBe(true);
      expect(headers['svc-event-id']).toBe(requests[0]?.headers['svc-event-id']);
    }
    expect(new Set(requests.map(({ headers }) => headers['svc-signature'])).size).toBe(3);
  });

  test('has umlauts, emoji and quotes as they were written', async () => {
    const endpoint = await createEndpoint(undefined, {
      events: ['assignment.created', 'assignment.completed'],
    });
    const title = 'Übe „Einwände“ 🎯👩🏽‍💻 \\ "quoted" <b>\u2028';
    const body = {
      member_id: `mem_${team.slice(5)}_member`,
      title,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    };
    const created = await call('POST', '/assignments', { body });
    const [request] = await receiver.arrived(endpoint.path);
    expect(json(request)).toMatchObject({
      type: 'assignment.created',
      data: { assignment_id: created.body.id, title },
    });
    expect(Number(request?.headers['content-length'])).toBe(request?.body.length);
    verify(request as Received, endpoint.secret);
    await call('PATCH', `/assignments/${created.body.id}`, { body: { status: 'done' } });
    const [, completed] = await receiver.arrived(endpoint.path, 2);
    expect(json(completed)).toMatchObject({
      type: 'assignment.completed',
      data: { title, status: 'done' },
    });
  });

  test('goes to every endpoint that subscribes to it and to no other, each signed with its own secret', async () => {
    const subscribed = await Promise.all([
      createEndpoint(),
      createEndpoint(),
      createEndpoint(status(500)),
    ]);
    const other = await createEndpoint(undefined, {
      events: ['member.removed', 'training.completed'],
    });
    await raise();
    const outcomes = await Promise.all(subscribed.map((endpoint) => attempted(endpoint)));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['ok', 'ok', 'retrying']);
    const requests = subscribed.map(({ path }) => receiver.requestsTo(path)[0] as Received);
    expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
    for (const [index, request] of requests.entries())
      verify(request, subscribed[index]?.secret ?? '');
    expect(() => verify(requests[0] as Received, subscribed[1]?.secret ?? '')).toThrow(
      'No signatures found',
    );
    expect(await list(other)).toEqual([]);
  });

  test('has no other team’s events', async () => {
    const endpoint = await createEndpoint();
    await raise('team_foreign');
    await raise();
    await attempted(endpoint);
    expect(await list(endpoint)).toHaveLength(1);
    expect(json(receiver.requestsTo(endpoint.path)[0]).tenant_id).toBe(team);
  });

  test.each([
    [true, false],
    [false, true],
  ])(
    'shows a person as the switch stood when it happened (on: %s), at every attempt, however it is switched meanwhile',
    async (before, meanwhile) => {
      const setSwitch = (on: boolean) =>
        query('update team set member_detail_enabled = $2 where id = $1', [team, on]);
      const endpoint = await createEndpoint(status(500), { events: ['member.removed'] });
      await setSwitch(before);
      const holder = await api.db.pool.connect();
      // Nobody makes a delivery while this lock is held, so the switch is set between the event and its delivery.
      await holder.query('begin; lock table webhook_delivery in share row exclusive mode');
      await call('DELETE', `/users/mem_${team.slice(5)}_member`);
      await setSwitch(meanwhile);
      await holder.query('rollback');
      holder.release();
      await attempted(endpoint);
      clock.advance(60_000);
      await attempted(endpoint, 2);
      const requests = receiver.requestsTo(endpoint.path);
      expect(requests[1]?.body.equals(requests[0]?.body ?? Buffer.alloc(0))).toBe(true);
      const { data } = json(requests[0]);
      expect(data).toEqual({
        team_id: team,
        member_id: `mem_${team.slice(5)}_member`,
        role: 'member',
        ...(before && { user_id: `usr_${team.slice(5)}_member` }),
      });
    },
  );

  test.each([true, false])(
    'has score and user_id of an evaluation only when the switch was on (on: %s)',
    async (on) => {
      const endpoint = await createEndpoint(undefined, { events: ['evaluation.completed'] });
      const data = {
        team_id: team,
        training_id: 'trn_1',
        ...(on && { user_id: 'usr_1', score: 71 }),
      };
      await query(
        `insert into event (team_id, id, type, data, created_at) values ($1, 'evt_' || $1, 'evaluation.completed', $2, $3)`,
        [team, JSON.stringify(data), clock.now()],
      );
      const [request] = await receiver.arrived(endpoint.path);
      expect(json(request).data).toEqual(data);
    },
  );

  test('says the version of its endpoint', async () => {
    const endpoint = await createEndpoint();
    await query(`update webhook_endpoint set api_version = '2025-03' where team_id = $1`, [team]);
    await raise();
    const [request] = await receiver.arrived(endpoint.path);
    expect(json(request).api_version).toBe('2025-03');
  });
});

const stripe = new Stripe('sk_test_none');
/** As a receiver with Stripe's library would: the header has the same form, only another name. */
function verify(
  request: Pick<Received, 'body' | 'headers'>,
  secret: string,
  atMs = clock.now().getTime(),
): unknown {
  const header = String(request.headers['svc-signature']);
  return stripe.webhooks.constructEvent(request.body, header, secret, 300, undefined, atMs);
}

describe('the signature', () => {
  test("is accepted by Stripe's library, with the secret as the creation of the endpoint answered it", async () => {
    const endpoint = await createEndpoint();
    await raise();
    const [request] = await receiver.arrived(endpoint.path);
    expect(verify(request as Received, endpoint.secret)).toEqual(json(request));
  });

  test('is refused with a changed body, another secret, or after five minutes', async () => {
    const endpoint = await createEndpoint();
    await raise();
    const [request] = (await receiver.arrived(endpoint.path)) as [Received];
    const sentAt = clock.now().getTime();
    const changed = { ...request, body: Buffer.concat([request.body, Buffer.from(' ')]) };
    expect(() => verify(changed, endpoint.secret)).toThrow('No signatures found');
    expect(() => verify(request, `${endpoint.secret}x`)).toThrow('No signatures found');
    expect(() => verify(request, endpoint.secret.replace('whsec_', ''))).toThrow(
      'No signatures found',
    );
    expect(() => verify(request, endpoint.secret, sentAt + 300_000)).not.toThrow();
    expect(() => verify(request, endpoint.secret, sentAt + 302_000)).toThrow('tolerance zone');
  });

  test('of a retry has the time of that attempt, so it is never refused as too old', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(500), status(200)));
    await failed(endpoint, 3);
    for (const [index, request] of receiver.requestsTo(endpoint.path).entries()) {
      const t = Number(/t=(\d+)/.exec(String(request.headers['svc-signature']))?.[1]);
      expect(t * 1000).toBe(clock.now().getTime() - ([360_000, 300_000, 0][index] ?? 0));
      verify(request, endpoint.secret, t * 1000);
    }
  });
});
