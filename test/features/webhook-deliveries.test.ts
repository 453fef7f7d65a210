import { describe, expect, onTestFinished, test } from 'vitest';
import { EVENTS, SUBSCRIBABLE_EVENTS } from '../../src/core/events.ts';
import { held, inTurn, status, type Behaviour } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  api,
  attempted,
  call,
  clock,
  createEndpoint,
  everythingDueIsAttempted,
  failed,
  json,
  listDeliveries,
  ping,
  query,
  raise,
  receiver,
  retry,
  team,
  useWebhookDeliveries,
  type Delivery,
} from '../support/webhook-deliveries.ts';

useWebhookDeliveries();

describe('POST /webhook-endpoints/{endpoint_id}/test', () => {
  test('202: queues a ping whose outcome is listed under the returned id', async () => {
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

  test.each(SUBSCRIBABLE_EVENTS)('202: sends the example of %s, marked as a test', async (type) => {
    const endpoint = await createEndpoint(inTurn(status(500), status(204)));
    const sent = await ping(endpoint, { body: { event_type: type } });
    expect(sent.status).toBe(202);
    // In every list it is a ping: nothing like it has happened.
    expect(await attempted(endpoint)).toMatchObject({ status: 'retrying', event_type: 'ping' });
    clock.advance(60_000);
    expect(await attempted(endpoint, 2)).toMatchObject({ status: 'ok' });
    const [first, second] = receiver.requestsTo(endpoint.path);
    const data = { team_id: team, ...EVENTS[type].example };
    expect(json(first)).toMatchObject({ type, test: true, tenant_id: team });
    expect(json(first).data).toEqual(data);
    expect(second?.body).toEqual(first?.body);
    const events = await call('GET', `/events?type=ping&limit=200`);
    const listed = events.body.data.find(({ id }: { id: string }) => id === json(first).id);
    expect(listed.data).toEqual({
      team_id: team,
      endpoint_id: endpoint.id,
      sent_as: type,
      sent_data: JSON.stringify(data),
    });
    expect((await call('GET', `/events?type=${type}`)).body.data).toEqual([]);
  });

  test('202: leaves out of an example what a real event would lack', async () => {
    const endpoint = await createEndpoint();
    const switched = (on: boolean) =>
      query('update team set member_detail_enabled = $1 where id = $2', [on, team]);
    await switched(false);
    onTestFinished(async () => void (await switched(true)));
    await ping(endpoint, { body: { event_type: 'evaluation.completed' } });
    await attempted(endpoint);
    const [request] = receiver.requestsTo(endpoint.path);
    expect(Object.keys(json(request).data)).toEqual(['team_id', 'training_id']);
  });

  test('202: without a body or a type, it is a ping', async () => {
    const endpoint = await createEndpoint();
    for (const how of [{}, { body: {} }, { body: { event_type: 'ping' } }])
      expect((await ping(endpoint, how)).status).toBe(202);
    await until(() => receiver.requestsTo(endpoint.path).length === 3);
    for (const request of receiver.requestsTo(endpoint.path)) {
      expect(json(request).type).toBe('ping');
      expect(Object.keys(json(request))).not.toContain('test');
    }
  });

  test('422: names the types for one that there is not, and sends nothing', async () => {
    const endpoint = await createEndpoint();
    const answer = await ping(endpoint, { body: { event_type: 'training.watched' } });
    expect(answer).toMatchObject({
      status: 422,
      body: { field: 'event_type', detail: expect.stringContaining('training.completed') },
    });
    expect(await listDeliveries(endpoint)).toEqual([]);
  });

  test('202: retries a failed ping like any other event', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(204)));
    await ping(endpoint);
    expect(await attempted(endpoint)).toMatchObject({ status: 'retrying', event_type: 'ping' });
    clock.advance(60_000);
    expect(await attempted(endpoint, 2)).toMatchObject({ status: 'ok' });
  });

  test('202: sends the ping to this endpoint only', async () => {
    const [endpoint, other] = [await createEndpoint(), await createEndpoint()];
    await ping(endpoint);
    await attempted(endpoint);
    expect(await listDeliveries(other)).toEqual([]);
    expect(receiver.requestsTo(other.path)).toEqual([]);
  });

  test('202: with an Idempotency-Key, repeated calls send one ping', async () => {
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
    expect(await listDeliveries(endpoint)).toHaveLength(1);
    const other = await createEndpoint();
    expect(await ping(other, { headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
    expect(await listDeliveries(other)).toEqual([]);
  });

  test('202: the audit entry names the delivery and not the URL', async () => {
    const endpoint = await createEndpoint();
    const { delivery_id } = (await ping(endpoint)).body;
    const audit = await query(
      `select details
       from audit_log
       where team_id = $1 and target_id = $2 and action = 'webhook_endpoint.tested'`,
      [team, endpoint.id],
    );
    expect(audit).toEqual([{ details: { delivery_id } }]);
  });
});

describe('POST /webhook-deliveries/{delivery_id}/retry', () => {
  test('202: returns the delivery as it is, and attempts it at once', async () => {
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

  test('202: with an Idempotency-Key, repeated calls make one attempt', async () => {
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

  test('202: leaves an audit entry', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    await retry(delivery);
    const audit = await query(
      `select actor_kind, target_id
       from audit_log
       where team_id = $1 and action = 'webhook_delivery.retried'`,
      [team],
    );
    expect(audit).toEqual([{ actor_kind: 'api_key', target_id: delivery.id }]);
  });

  test('422 field delivery_id: refuses a delivery that is ok', async () => {
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

  test('422 field delivery_id: refuses a pending delivery, which is attempted anyway', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    const [delivery] = await listDeliveries(endpoint);
    expect(delivery).toMatchObject({ status: 'pending', attempt: 0 });
    expect(await retry(delivery as Delivery)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'delivery_id' },
    });
    answer.open();
    expect(await attempted(endpoint)).toMatchObject({ status: 'ok', attempt: 1 });
  });

  test('202: makes the attempt after a scheduled one in flight has failed', async () => {
    const answer = held(status(500));
    const endpoint = await createEndpoint(inTurn(status(500), answer.behaviour, status(200)));
    const delivery = await failed(endpoint, 1);
    clock.advance(60_000);
    await receiver.arrived(endpoint.path, 2);
    expect((await retry(delivery)).status).toBe(202);
    answer.open();
    expect(await attempted(endpoint, 3)).toMatchObject({ status: 'ok', attempt: 3 });
  });

  test('202: makes no attempt if a scheduled one in flight succeeds', async () => {
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
  test('200: shows exactly the documented fields of a delivery', async () => {
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

  test('200: an answer that quotes the event comes without the person', async () => {
    const echo: Behaviour = (response, { body }) => response.writeHead(422).end(body);
    const endpoint = await createEndpoint(echo, { events: ['evaluation.completed'] });
    const data = { team_id: team, training_id: 'trn_echo', user_id: 'usr_echo', score: 4737 };
    await query(
      `insert into event (team_id, id, type, data, created_at)
       values ($1, 'evt_echo', 'evaluation.completed', $2, $3)`,
      [team, JSON.stringify(data), clock.now()],
    );
    const { response_excerpt: excerpt } = await attempted(endpoint);
    const body = String(receiver.requestsTo(endpoint.path)[0]?.body);
    const sent = `"training_id":"trn_echo","user_id":"usr_echo","score":4737}`;
    expect(body).toContain(sent);
    const kept = sent.replace('usr_echo', '…').replace('4737', '…');
    expect(excerpt).toBe(body.replace(sent, kept));
  });

  test('200: lists the newest first, up to the limit, without a cursor', async () => {
    const endpoint = await createEndpoint();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      clock.advance(1000);
      ids.unshift((await ping(endpoint)).body.delivery_id);
    }
    expect((await listDeliveries(endpoint)).map(({ id }) => id)).toEqual(ids);
    const two = await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries?limit=2`);
    expect(two.body.data.map(({ id }: Delivery) => id)).toEqual(ids.slice(0, 2));
    expect(Object.keys(two.body)).toEqual(['data']);
  });

  test('200: the list of an endpoint without deliveries is empty', async () => {
    expect(await listDeliveries(await createEndpoint())).toEqual([]);
  });

  test.each(['0', '201', '1.5', 'ten', ''])('422: refuses limit=%s', async (limit) => {
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
  test('403: all need the scope webhooks:manage', async () => {
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

  test("404: another team's ids look like unknown ones, and nothing is sent", async () => {
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
    expect(await listDeliveries(endpoint)).toHaveLength(1);
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
    expect(
      await query(
        `select
         from audit_log
         where team_id = 'team_foreign' and action like 'webhook%'`,
      ),
    ).toEqual([]);
  });
});
