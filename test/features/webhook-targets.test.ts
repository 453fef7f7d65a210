// The address of an attempt. A name may resolve to another address than at the creation of its
// endpoint, so each attempt checks the address again and connects to the address that it checked.
// Private targets are refused unless a test allows them.
import { createServer as createSocketServer, type AddressInfo, type Server } from 'node:net';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { encrypt } from '../../src/core/encryption.ts';
import type { HostAddress, Lookup } from '../../src/core/dns-lookup.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));
const PUBLIC: HostAddress = { address: '93.184.216.34', family: 4 };
const address = (text: string): HostAddress => ({
  address: text,
  family: text.includes(':') ? 6 : 4,
});
const REFUSED = {
  status: 'retrying',
  response_code: null,
  response_excerpt: null,
  error: 'target_not_public',
};

/** Whether our name server is away. */
let resolverFails = false;
/** What the name resolves to now. */
const names = new Map<string, readonly HostAddress[]>();
const asked: string[] = [];
const lookup: Lookup = async (hostname) => {
  asked.push(hostname);
  const found = names.get(hostname);
  if (resolverFails) throw Object.assign(new Error('no answer'), { code: 'ESERVFAIL' });
  if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  return found;
};

let api: TestApi;
/** A server on this machine that counts the connections. */
let inside: { readonly server: Server; readonly port: number; connections: number };
let team = '';
let teams = 0;

beforeAll(async () => {
  const server = createSocketServer((socket) => {
    inside.connections += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => {
    // It listens on every address of this machine, IPv6 included.
    server.listen(0, done);
  });
  inside = { server, port: (server.address() as AddressInfo).port, connections: 0 };
  const seed = makeSeed(Array.from({ length: 12 }, (_, index) => makeTeam(`t${index}`)));
  api = await startTestApi({ seed, clock, services: { lookup } });
  await startDeliveries(api, { clock, lookup, allowPrivateTargets: false });
  return () => new Promise((done) => server.close(done));
});

beforeEach(() => {
  team = `team_t${teams}`;
  teams += 1;
});

const call = (method: string, path: string, body?: object) =>
  api.call(api.key(team), method, path, body ? { body } : {});

async function createEndpoint(url: string): Promise<string> {
  const created = await call('POST', '/webhook-endpoints', { url, events: ['member.joined'] });
  expect(created.status).toBe(201);
  return created.body.id;
}

async function attempted(endpointId: string, attempt = 1) {
  return until(async () => {
    const { data } = (await call('GET', `/webhook-endpoints/${endpointId}/deliveries`)).body;
    return data.find((row: { attempt: number }) => row.attempt >= attempt);
  });
}

describe('a name that was public when the endpoint was created', () => {
  test('gets nothing at any attempt while it is private', async () => {
    names.set('rebound.test', [PUBLIC]);
    const endpoint = await createEndpoint(`https://rebound.test:${inside.port}/`);
    names.set('rebound.test', [address('127.0.0.1')]);
    await call('POST', `/webhook-endpoints/${endpoint}/test`);
    expect(await attempted(endpoint)).toMatchObject(REFUSED);
    clock.advance(60_000);
    expect(await attempted(endpoint, 2)).toMatchObject(REFUSED);
    expect(inside.connections).toBe(0);
  });

  test.each([
    ['one of its addresses is private now', [PUBLIC, address('10.0.0.5')]],
    ['the first of its addresses is private', [address('::1'), PUBLIC]],
    ['one of its addresses is a mapped private one', [PUBLIC, address('::ffff:127.0.0.1')]],
    ['it has no address any longer', []],
  ])('gets nothing when %s', async (_when, addresses) => {
    names.set('mixed.test', [PUBLIC]);
    const endpoint = await createEndpoint(`https://mixed.test:${inside.port}/`);
    names.set('mixed.test', addresses);
    await call('POST', `/webhook-endpoints/${endpoint}/test`);
    expect(await attempted(endpoint)).toMatchObject(REFUSED);
    expect(inside.connections).toBe(0);
  });

  test('fails the attempt as any error does: it is retried, and the three days begin', async () => {
    names.set('lost.test', [PUBLIC]);
    const endpoint = await createEndpoint(`https://lost.test:${inside.port}/`);
    names.delete('lost.test');
    await call('POST', '/users', { email: 'someone@example.test' });
    const nextTryAt = new Date(clock.now().getTime() + 60_000).toISOString();
    expect(await attempted(endpoint)).toMatchObject({ ...REFUSED, next_try_at: nextTryAt });
    const failing = 'select failing_since from webhook_endpoint where team_id = $1';
    const since = await until(
      async () => (await api.db.pool.query(failing, [team])).rows[0].failing_since,
    );
    expect(since).toBe(clock.now().toISOString());
  });
});

test('a failed lookup has an error of its own', async () => {
  names.set('away.test', [PUBLIC]);
  const endpoint = await createEndpoint(`https://away.test:${inside.port}/`);
  resolverFails = true;
  await call('POST', '/users', { email: 'anyone@example.test' });
  const failed = { ...REFUSED, error: 'name_not_resolved' };
  expect(await attempted(endpoint)).toMatchObject(failed);
  expect(
    await call('POST', '/webhook-endpoints', {
      url: 'https://new.test/',
      events: ['member.joined'],
    }),
  ).toMatchObject({
    status: 422,
    body: { code: 'validation_error', field: 'url', detail: expect.stringMatching('Try again') },
  });
  resolverFails = false;
  names.set('away.test', [address('10.0.0.5')]);
  clock.advance(60_000);
  expect(await attempted(endpoint, 2)).toMatchObject(REFUSED);
});

describe('every form of a private target', () => {
  /** Hosts that get one delivery each, as if the check at the creation had let them pass. */
  const FORMS = `
    127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 017700000001 0177.0.0.1 127.0.0.1. 0.0.0.0 0
    １２７.0.0.1 localhost LOCALHOST localhost. api.localhost 10.0.0.1 172.16.0.1 192.168.0.1
    169.254.169.254 100.64.0.1 224.0.0.1 240.0.0.1 255.255.255.255 192.0.2.1 198.18.0.1
    198.51.100.1 203.0.113.1 [::1] [::] [0:0:0:0:0:0:0:1] [fe80::1] [fc00::1] [fd00::1] [ff02::1]
    [2001:db8::1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1]
    [64:ff9b::127.0.0.1] [64:ff9b:1::8.8.8.8] [2002:7f00:1::1]`
    .trim()
    .split(/\s+/);

  test('is refused before a connection is made, so nothing reaches this machine', async () => {
    names.set('seen.test', [PUBLIC]);
    const urls = [
      ...FORMS.map((host) => `https://${host}:${inside.port}/`),
      // Only a setting for development allows this URL, but a database may still contain it.
      `http://127.0.0.1:${inside.port}/`,
      `http://seen.test:${inside.port}/`,
      `https://user:password@seen.test:${inside.port}/`,
    ];
    const insert = `insert into webhook_endpoint
        (team_id, id, url, events, api_version, secret_encrypted, created_at)
      values ($1, $2, $3, '{member.joined}', '2026-11', $4, $5)`;
    const endpoints = urls.map((_, index) => `whe_form${index}`);
    for (const [index, id] of endpoints.entries()) {
      const sealed = encrypt('whsec_of_a_test', TEST_APP_SECRET, webhookSecretContext(team, id));
      await api.db.pool.query(insert, [team, id, urls[index], sealed, clock.now()]);
    }
    for (const id of endpoints) await call('POST', `/webhook-endpoints/${id}/test`);
    for (const [index, id] of endpoints.entries())
      expect([urls[index], await attempted(id)]).toEqual([
        urls[index],
        expect.objectContaining(REFUSED),
      ]);
    expect(inside.connections).toBe(0);
  });

  test('a literal address is not looked up', () => {
    expect(asked.filter((name) => /^[\d.[\]:]+$/.test(name))).toEqual([]);
  });
});

describe('where private targets are allowed', () => {
  let receiver: Receiver;
  let own: TestApi;
  let deliveries: Deliveries;
  let answers: readonly HostAddress[];
  let lookups = 0;

  beforeAll(async () => {
    receiver = await startReceiver();
    own = await startTestApi({
      seed: makeSeed([makeTeam('own')]),
      clock,
      allowPrivateTargets: true,
    });
    deliveries = await startDeliveries(own, {
      clock,
      lookup: async () => {
        lookups += 1;
        return answers;
      },
    });
  });

  const pingTo = async (url: string) => {
    const key = own.key('team_own');
    const { id } = (
      await own.call(key, 'POST', '/webhook-endpoints', {
        body: { url, events: ['member.joined'] },
      })
    ).body;
    await own.call(key, 'POST', `/webhook-endpoints/${id}/test`);
    return until(async () => {
      const { data } = (await own.call(key, 'GET', `/webhook-endpoints/${id}/deliveries`)).body;
      return data.find((row: { attempt: number }) => row.attempt > 0);
    });
  };

  test('the connection goes to the checked address, with one lookup an attempt', async () => {
    answers = [address('127.0.0.1')];
    const before = lookups;
    // No resolver of this machine knows this name, so a second lookup would fail.
    expect(
      await pingTo(`http://only-the-test-knows.invalid:${receiver.port}/pinned`),
    ).toMatchObject({ status: 'ok' });
    expect(lookups - before).toBe(1);
    expect(receiver.requestsTo('/pinned')[0]?.headers.host).toBe(
      `only-the-test-knows.invalid:${receiver.port}`,
    );
  });

  test('a kept connection is not used when the name has another address', async () => {
    receiver.on('/kept', status(200));
    answers = [address('127.0.0.1')];
    const url = `http://moving.invalid:${receiver.port}/kept`;
    expect(await pingTo(url)).toMatchObject({ status: 'ok' });
    // Nothing listens there.
    answers = [address('127.0.0.2')];
    const moved = await pingTo(url);
    expect(moved).toMatchObject({ status: 'retrying', response_code: null });
    expect(receiver.requestsTo('/kept')).toHaveLength(1);
    expect(deliveries.errors()).toEqual([]);
  });
});
