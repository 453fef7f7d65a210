// What a receiver of webhooks gets: the body, the headers and the signature.
import Stripe from 'stripe';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import * as standardWebhooks from '../../src/docs/examples/verify-standardwebhooks.js';
import * as stripeLibrary from '../../src/docs/examples/verify-stripe.js';
import * as svix from '../../src/docs/examples/verify-svix.js';
import { holdLock, lockWhole } from '../support/locks.ts';
import { inTurn, status, type Received } from '../support/receiver.ts';
import {
  api,
  attempted,
  call,
  clock,
  createEndpoint,
  failed,
  json,
  listDeliveries,
  query,
  raise,
  receiver,
  team,
  useWebhookDeliveries,
  type Endpoint,
} from '../support/webhook-deliveries.ts';

useWebhookDeliveries();

describe('what a receiver gets', () => {
  test('is the envelope, with its fields in the documented order', async () => {
    const endpoint = await createEndpoint();
    const { id } = (await raise()).body;
    const [request] = await receiver.arrived(endpoint.path);
    expect(request?.method).toBe('POST');
    expect(request?.headers).toMatchObject({
      accept: '*/*',
      'content-type': 'application/json',
      'svc-signature': expect.stringMatching(/^t=\d{10},v1=[0-9a-f]{64}$/),
      'webhook-id': json(request).id,
      'webhook-timestamp': String(Math.floor(clock.now().getTime() / 1000)),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
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

  test('comes to the whole address, its query included', async () => {
    const path = '/hook-with-query/a%20b?token=x%2Fy&empty=&z';
    const body = { url: receiver.url + path, events: ['member.joined'] };
    expect((await call('POST', '/webhook-endpoints', { body })).status).toBe(201);
    await raise();
    expect(await receiver.arrived(path)).toHaveLength(1);
  });

  test('is the same body and event id at every attempt, signed anew each time', async () => {
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

  test('has umlauts, emoji and quotes unchanged', async () => {
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

  test('goes to each subscribed endpoint and no other, signed with its own secret', async () => {
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
    expect(await listDeliveries(other)).toEqual([]);
  });

  test('is never an event of another team', async () => {
    const endpoint = await createEndpoint();
    await raise('team_foreign');
    await raise();
    await attempted(endpoint);
    expect(await listDeliveries(endpoint)).toHaveLength(1);
    expect(json(receiver.requestsTo(endpoint.path)[0]).tenant_id).toBe(team);
  });

  test.each([
    [true, false],
    [false, true],
  ])(
    'shows a person if the switch was on at the time of the event (on: %s)',
    async (before, meanwhile) => {
      const setSwitch = (on: boolean) =>
        query('update team set member_detail_enabled = $2 where id = $1', [team, on]);
      const endpoint = await createEndpoint(status(500), { events: ['member.removed'] });
      await setSwitch(before);
      // No delivery is made while this lock is held, so the switch changes after the event and
      // before its delivery.
      const release = await holdLock(api, lockWhole('webhook_delivery'));
      await call('DELETE', `/users/mem_${team.slice(5)}_member`);
      await setSwitch(meanwhile);
      await release();
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
    'has score and user_id of an evaluation only if the switch was on (on: %s)',
    async (on) => {
      const endpoint = await createEndpoint(undefined, { events: ['evaluation.completed'] });
      const data = {
        team_id: team,
        training_id: 'trn_1',
        ...(on && { user_id: 'usr_1', score: 71 }),
      };
      await query(
        `insert into event (team_id, id, type, data, created_at)
         values ($1, 'evt_' || $1, 'evaluation.completed', $2, $3)`,
        [team, JSON.stringify(data), clock.now()],
      );
      const [request] = await receiver.arrived(endpoint.path);
      expect(json(request).data).toEqual(data);
    },
  );

  test('has the API version of its endpoint', async () => {
    const endpoint = await createEndpoint();
    await query(`update webhook_endpoint set api_version = '2025-03' where team_id = $1`, [team]);
    await raise();
    const [request] = await receiver.arrived(endpoint.path);
    expect(json(request).api_version).toBe('2025-03');
  });
});

const stripe = new Stripe('sk_test_none');
/** Verifies with Stripe's library: its header has the same form, only another name. */
function verify(
  request: Pick<Received, 'body' | 'headers'>,
  secret: string,
  atMs = clock.now().getTime(),
): unknown {
  const header = String(request.headers['svc-signature']);
  return stripe.webhooks.constructEvent(request.body, header, secret, 300, undefined, atMs);
}

describe('the signature', () => {
  test("is accepted by Stripe's library with the secret that the creation returned", async () => {
    const endpoint = await createEndpoint();
    await raise();
    const [request] = await receiver.arrived(endpoint.path);
    expect(verify(request as Received, endpoint.secret)).toEqual(json(request));
  });

  test('is refused for a changed body, for another secret, and after five minutes', async () => {
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

  test('of a retry has the time of that attempt, so it is not too old', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(500), status(200)));
    await failed(endpoint, 3);
    for (const [index, request] of receiver.requestsTo(endpoint.path).entries()) {
      const t = Number(/t=(\d+)/.exec(String(request.headers['svc-signature']))?.[1]);
      expect(t * 1000).toBe(clock.now().getTime() - ([360_000, 300_000, 0][index] ?? 0));
      verify(request, endpoint.secret, t * 1000);
    }
  });
});

/** The samples of the documentation, which call the libraries of others. */
const LIBRARIES: readonly (readonly [string, typeof svix])[] = [
  ['standardwebhooks', standardWebhooks],
  ['svix', svix],
  ['stripe', stripeLibrary],
];

const REFUSED = /No matching signature|No signatures found/;

describe.each(LIBRARIES)('the library %s', (_name, { verifyDelivery }) => {
  /** These libraries read the system's clock. */
  const verifyAt = (
    { body, headers }: Pick<Received, 'body' | 'headers'>,
    secret: string,
    afterS = 0,
  ): unknown => {
    vi.useFakeTimers({ toFake: ['Date'], now: clock.now().getTime() + afterS * 1000 });
    onTestFinished(() => void vi.useRealTimers());
    return verifyDelivery(body.toString(), headers, secret);
  };

  test('verifies a delivery with the secret as shown, and refuses others', async () => {
    const endpoint = await createEndpoint();
    await raise();
    const [request] = (await receiver.arrived(endpoint.path)) as [Received];
    const other = (await createEndpoint()).secret;
    expect(verifyAt(request, endpoint.secret)).toEqual(json(request));
    const changed = {
      ...request,
      body: Buffer.from(request.body.toString().replace('evt', 'evu')),
    };
    expect(() => verifyAt(changed, endpoint.secret)).toThrow(REFUSED);
    expect(() => verifyAt(request, other)).toThrow(REFUSED);
    expect(() => verifyAt(request, endpoint.secret, 302)).toThrow(/too old|tolerance zone/);
    expect(() => verifyAt({ ...request, headers: {} }, endpoint.secret)).toThrow(
      /Missing required headers|Unable to extract/,
    );
  });
});

describe('after a rotation of the secret', () => {
  const rotate = async (endpoint: Endpoint, graceS: number): Promise<string> => {
    const body = { grace_s: graceS };
    const rotated = await call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, { body });
    expect(rotated.status).toBe(200);
    return rotated.body.secret;
  };
  /** Which of the secrets the libraries accept for the newest delivery. They must agree. */
  const accepted = async (endpoint: Endpoint, secrets: readonly string[]): Promise<boolean[]> => {
    const count = receiver.requestsTo(endpoint.path).length + 1;
    await raise();
    const { body, headers } = (await receiver.arrived(endpoint.path, count)).at(-1) as Received;
    vi.useFakeTimers({ toFake: ['Date'], now: clock.now() });
    onTestFinished(() => void vi.useRealTimers());
    const outcomes = LIBRARIES.map(([, { verifyDelivery }]) =>
      secrets.map((secret) => {
        try {
          return verifyDelivery(body.toString(), headers, secret) !== undefined;
        } catch {
          return false;
        }
      }),
    );
    vi.useRealTimers();
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[2]).toEqual(outcomes[0]);
    return outcomes[0] ?? [];
  };

  test('deliveries verify with both secrets until the grace period ends', async () => {
    const endpoint = await createEndpoint();
    const secrets = [endpoint.secret];
    expect(await accepted(endpoint, secrets)).toEqual([true]);
    secrets.push(await rotate(endpoint, 60));
    expect(await accepted(endpoint, secrets)).toEqual([true, true]);
    clock.advance(59_999);
    expect(await accepted(endpoint, secrets)).toEqual([true, true]);
    clock.advance(1);
    expect(await accepted(endpoint, secrets)).toEqual([false, true]);
  });

  test('that is repeated, the receiver that knows the first secret still verifies', async () => {
    const endpoint = await createEndpoint();
    const secrets = [endpoint.secret, await rotate(endpoint, 600), await rotate(endpoint, 60)];
    expect(await accepted(endpoint, secrets)).toEqual([true, true, true]);
    clock.advance(60_000);
    expect(await accepted(endpoint, secrets)).toEqual([true, false, true]);
  });

  test('without a grace period, no earlier secret verifies', async () => {
    const endpoint = await createEndpoint();
    const secrets = [endpoint.secret, await rotate(endpoint, 600), await rotate(endpoint, 0)];
    expect(await accepted(endpoint, secrets)).toEqual([false, false, true]);
  });

  test('a retry of an older event is signed with the new secret, too', async () => {
    const endpoint = await createEndpoint(inTurn(status(500), status(200)));
    await failed(endpoint, 1);
    const secret = await rotate(endpoint, 0);
    clock.advance(60_000);
    const requests = await receiver.arrived(endpoint.path, 2);
    expect(verify(requests[1] as Received, secret)).toEqual(json(requests[0]));
  });
});
