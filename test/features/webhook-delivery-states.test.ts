import { describe, expect, test } from 'vitest';
import { removeDeletedEndpoint } from '../../src/features/webhook-deliveries/removal.ts';
import { RETRY_DELAYS_S } from '../support/deliveries.ts';
import { holdLock } from '../support/locks.ts';
import { held, inTurn, status } from '../support/receiver.ts';
import {
  api,
  attempted,
  call,
  clock,
  createEndpoint,
  deliveries,
  everythingDueIsAttempted,
  failed,
  listDeliveries,
  ping,
  query,
  raise,
  receiver,
  retry,
  team,
  useWebhookDeliveries,
  type Endpoint,
} from '../support/webhook-deliveries.ts';
import { until } from '../support/until.ts';

useWebhookDeliveries();

const getEndpoint = async (endpoint: Endpoint) =>
  (await call('GET', '/webhook-endpoints')).body.data.find(
    (shown: { id: string }) => shown.id === endpoint.id,
  );
const setStatus = (endpoint: Endpoint, to: 'active' | 'disabled') =>
  call('PATCH', `/webhook-endpoints/${endpoint.id}`, { body: { status: to } });
const pause = (endpoint: Endpoint) =>
  query(
    `update webhook_endpoint
     set status = 'disabled_failures'
     where team_id = $1 and id = $2`,
    [endpoint.team, endpoint.id],
  );

describe('the states of a delivery', () => {
  test.each([200, 201, 202, 204, 206, 299])(
    'any → ok: after a response with the status %i',
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
      expect((await getEndpoint(endpoint)).last_success_at).toBe(clock.now().toISOString());
    },
  );

  test.each([300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    'any → retrying: after a response with the status %i',
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
      expect((await getEndpoint(endpoint)).last_success_at).toBeNull();
      expect(receiver.requestsTo('/elsewhere')).toEqual([]);
    },
  );

  test('retrying → gave_up: retries exactly after 1, 5, 30 min, 2, 6, 12 and 24 h', async () => {
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

  test('retrying → ok: after an attempt that succeeds', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(500), status(200, 'at last')));
    expect(await failed(endpoint, 3)).toMatchObject({
      status: 'ok',
      attempt: 3,
      response_excerpt: 'at last',
      next_try_at: null,
    });
  });

  test('retrying → retrying: an immediate attempt that fails keeps the schedule', async () => {
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

  test('gave_up → gave_up or ok: after an immediate attempt', async () => {
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

  test('only the Retry-After of a 429 or 503 makes the wait longer', async () => {
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
    '%s: events of this time are never delivered',
    async (state) => {
      const [endpoint, active] = [await createEndpoint(), await createEndpoint()];
      if (state === 'disabled') await setStatus(endpoint, 'disabled');
      else await pause(endpoint);
      clock.advance(1);
      await raise();
      await attempted(active);
      await setStatus(endpoint, 'active');
      await everythingDueIsAttempted();
      expect(await listDeliveries(endpoint)).toEqual([]);
      await raise();
      expect(await attempted(endpoint)).toMatchObject({ status: 'ok' });
      expect(await listDeliveries(endpoint)).toHaveLength(1);
    },
  );

  test.each(['disabled', 'disabled_failures'])(
    '%s: waiting deliveries are held until the endpoint is active again',
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

  test('disabled → active: a delivery that is not due yet keeps its time', async () => {
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
    '%s: a test event is delivered and does not reactivate the endpoint',
    async (state) => {
      const endpoint = await createEndpoint();
      if (state === 'disabled') await setStatus(endpoint, 'disabled');
      else await pause(endpoint);
      await ping(endpoint);
      expect(await attempted(endpoint)).toMatchObject({ status: 'ok', event_type: 'ping' });
      expect(await getEndpoint(endpoint)).toMatchObject({ status: state, last_success_at: null });
    },
  );

  test('disabled_failures: an immediate attempt is made and does not reactivate', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(200)));
    const delivery = await failed(endpoint, 1);
    await pause(endpoint);
    await retry(delivery);
    expect(await attempted(endpoint, 2)).toMatchObject({ status: 'ok' });
    expect(await getEndpoint(endpoint)).toMatchObject({ status: 'disabled_failures' });
  });

  test('deleted: waiting deliveries are dropped and never sent', async () => {
    const endpoint = await createEndpoint(status(500));
    const delivery = await failed(endpoint, 1);
    expect((await call('DELETE', `/webhook-endpoints/${endpoint.id}`)).status).toBe(200);
    clock.advance(86_400_000);
    await everythingDueIsAttempted();
    expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
    expect((await retry(delivery)).status).toBe(404);
    expect((await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`)).status).toBe(404);
  });

  test('deleted: the result of an attempt in flight is discarded without an error', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    expect((await call('DELETE', `/webhook-endpoints/${endpoint.id}`)).status).toBe(200);
    answer.open();
    const other = await createEndpoint();
    await raise();
    expect(await attempted(other)).toMatchObject({ status: 'ok' });
    await removeDeletedEndpoint(api.db, { teamId: team, endpointId: endpoint.id });
    expect(await query('select id from webhook_delivery where team_id = $1', [team])).toHaveLength(
      1,
    );
    expect(deliveries.errors()).toEqual([]);
  });

  test('deleted: while a result waits to be written, without a wait or a deadlock', async () => {
    const answer = held(status(200));
    const endpoint = await createEndpoint(answer.behaviour);
    await raise();
    await receiver.arrived(endpoint.path);
    const release = await holdLock(
      api,
      `select from webhook_delivery where team_id = '${team}' for update`,
    );
    answer.open();
    expect((await call('DELETE', `/webhook-endpoints/${endpoint.id}`)).status).toBe(200);
    await release();
    const ok = `select from webhook_delivery where team_id = $1 and status = 'ok'`;
    await until(async () => (await query(ok, [team])).length === 1);
    expect(deliveries.errors()).toEqual([]);
  });

  test('url changed: the next attempt of a waiting delivery goes to the new url', async () => {
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

// The last one: others see that nothing was logged.
test('a fault of ours uses up no attempt and counts for no pause', async () => {
  const endpoint = await createEndpoint();
  const setSecret = (sealed: unknown) =>
    query(
      `update webhook_endpoint set secret_encrypted = $3 where team_id = $1 and id = $2
       returning failing_since, hourly_failures`,
      [team, endpoint.id, sealed],
    );
  const [stored] = await query('select secret_encrypted from webhook_endpoint where id = $1', [
    endpoint.id,
  ]);
  await setSecret(Buffer.from('no key opens this'));
  const before = deliveries.logged.length;
  await raise();
  // It is tried again, but not at once.
  await until(() => Promise.resolve(deliveries.logged.length > before + 1));
  expect(await listDeliveries(endpoint)).toMatchObject([{ status: 'pending', attempt: 0 }]);
  const [row] = await setSecret(stored?.['secret_encrypted']);
  expect(row).toEqual({ failing_since: null, hourly_failures: [] });
  expect(await attempted(endpoint)).toMatchObject({ status: 'ok', attempt: 1 });
  expect(receiver.requestsTo(endpoint.path)).toHaveLength(1);
  for (const line of deliveries.logged.slice(before))
    expect(JSON.parse(line).msg).toBe('a delivery could not be attempted');
});
