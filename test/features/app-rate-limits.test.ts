// The callers of the tRPC API are counted as API keys are: each person with the team, and everybody
// who is not signed in by address.
import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { openConnection, requestBytes } from '../contract/raw-http.ts';
import { startTestApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { openSession, tokenOf } from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

const START = new Date('2026-11-02T09:00:20.000Z');

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** tRPC's own code of each error; null for a call that succeeded. */
  readonly codes: readonly (string | null)[];
  /** Our problem code of the first error. */
  readonly problem: string | undefined;
}

interface TrpcResult {
  readonly error?: { readonly data: { readonly code: string; readonly problem: { code: string } } };
}

function startApi(options: Partial<TestApiOptions> = {}): Promise<TestApi> {
  const seed = makeSeed([makeTeam('a'), makeTeam('b')]);
  return startTestApi({ clock: fixedClock(START), seed, ...options });
}

async function bearer(team: string, name: string): Promise<Record<string, string>> {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  return { authorization: `Bearer ${await tokenOf(identity, START)}` };
}

async function ask(
  api: TestApi,
  headers: Record<string, string>,
  path = 'v1.me.get?input=%7B%7D',
): Promise<Answer> {
  const response = await fetch(`${api.url}/trpc/${path}`, { headers });
  const text = await response.text();
  const results = [JSON.parse(text)].flat() as TrpcResult[];
  return {
    status: response.status,
    headers: response.headers,
    text,
    codes: results.map(({ error }) => error?.data.code ?? null),
    problem: results.find(({ error }) => error)?.error?.data.problem.code,
  };
}

const batchOf = (calls: number): string =>
  `${Array.from({ length: calls }, () => 'v1.me.get').join(',')}?batch=1&input=${encodeURIComponent(
    JSON.stringify(Object.fromEntries(Array.from({ length: calls }, (_, index) => [index, {}]))),
  )}`;

const counters = async (api: TestApi): Promise<Record<string, number>> => {
  const { rows } = await api.db.pool.query<{ bucket: string; count: number }>(
    `select bucket, count from rate_counter
     union all
     select team_id || ' ' || bucket, count from team_counter`,
  );
  return Object.fromEntries(rows.map(({ bucket, count }) => [bucket, count]));
};

describe('the calls of a person', () => {
  test('end in a 429 with Retry-After, and restart each minute', async () => {
    const clock = fixedClock(START);
    const api = await startApi({ clock, personLimitPerMinute: 2 });
    const owner = await bearer('a', 'owner');
    const left = async () => (await ask(api, owner)).headers.get('ratelimit-remaining');
    expect([await left(), await left()]).toEqual(['1', '0']);
    const refused = await ask(api, owner);
    expect(refused).toMatchObject({
      status: 429,
      codes: ['TOO_MANY_REQUESTS'],
      problem: 'rate_limited',
    });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'retry-after': '40',
      'ratelimit-limit': '2',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '40',
    });
    expect((await ask(api, await bearer('a', 'admin'))).status).toBe(200);
    clock.set(new Date(START.getTime() + 40_000));
    expect((await ask(api, owner)).status).toBe(200);
  });

  test('count for the team too, or for neither, and never for the keys of the team', async () => {
    const seed = makeSeed([makeTeam('a', { rate_limit_per_min: 3 })]);
    const api = await startApi({ personLimitPerMinute: 2, seed });
    const status = async (name: string) => (await ask(api, await bearer('a', name))).status;
    expect([await status('owner'), await status('owner'), await status('owner')]).toEqual([
      200, 200, 429,
    ]);
    expect([await status('admin'), await status('admin')]).toEqual([200, 429]);
    const limited = await ask(api, await bearer('a', 'admin'));
    expect(limited.headers.get('ratelimit-limit')).toBe('3');
    expect(await counters(api)).toEqual({
      'team_a person:usr_a_owner': 2,
      'team_a person:usr_a_admin': 1,
      'team_a app': 3,
    });
    expect((await api.call(api.key('team_a'), 'GET', '/me')).status).toBe(200);
  });

  test('in a batch take the whole limit of a team that may make fewer', async () => {
    const clock = fixedClock(START);
    const api = await startApi({
      clock,
      seed: makeSeed([makeTeam('a', { rate_limit_per_min: 3 })]),
    });
    const owner = await bearer('a', 'owner');
    const status = async (path?: string) => (await ask(api, owner, path)).status;
    expect(await status(batchOf(10))).toBe(200);
    expect(await counters(api)).toEqual({ 'team_a person:usr_a_owner': 3, 'team_a app': 3 });
    expect([await status(), await status(batchOf(10))]).toEqual([429, 429]);
    clock.advance(40_000);
    expect([await status(), await status(batchOf(10)), await status()]).toEqual([200, 429, 200]);
  });

  test('count exactly when they come at the same time', async () => {
    const api = await startApi({ personLimitPerMinute: 10 });
    const owner = await bearer('a', 'owner');
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => (await ask(api, owner)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  });

  test('count also when they open a session', async () => {
    const api = await startApi({ personLimitPerMinute: 1 });
    const headers = await bearer('a', 'owner');
    const open = () => fetch(`${api.url}/trpc-session`, { method: 'POST', headers });
    expect((await open()).status).toBe(200);
    const refused = await open();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40']);
    expect(await refused.json()).toMatchObject({ code: 'rate_limited', retry_after: 40 });
  });

  test('may end a session over the limit, once: it is over, and others go on', async () => {
    const clock = fixedClock(START);
    const api = await startApi({ clock, personLimitPerMinute: 2, ipLimitPerMinute: 1 });
    const open = async () => {
      const { authorization = '' } = await bearer('a', 'owner');
      return (await openSession(api, authorization.replace('Bearer ', ''))).headers;
    };
    const [session, other] = [await open(), await open()];
    const ask = (method: string, headers = session) =>
      fetch(`${api.url}/trpc-session`, { method, headers });
    expect((await ask('GET')).status).toBe(429);
    const ended = await ask('DELETE');
    expect(ended.status).toBe(204);
    expect(ended.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^svc_session=;.* Expires=Thu, 01 Jan 1970/),
    ]);
    // A spent token is nobody's, and its calls count for the address.
    expect([(await ask('DELETE')).status, (await ask('DELETE')).status]).toEqual([204, 429]);
    clock.advance(40_000);
    expect([(await ask('GET')).status, (await ask('GET', other)).status]).toEqual([401, 200]);
  });

  test('of a minute that has just ended count in the newer one', async () => {
    const clock = fixedClock(new Date('2026-11-02T09:01:05.000Z'));
    const api = await startApi({ clock, personLimitPerMinute: 2 });
    const owner = await bearer('a', 'owner');
    expect((await ask(api, owner)).status).toBe(200);
    clock.set(new Date('2026-11-02T09:00:59.000Z'));
    const late = await ask(api, owner);
    expect([late.status, late.headers.get('ratelimit-reset')]).toEqual([200, '60']);
    expect((await ask(api, owner)).status).toBe(429);
  });

  test('of a service of the host application have no limit', async () => {
    const api = await startApi({ personLimitPerMinute: 1, ipLimitPerMinute: 1 });
    const token = await tokenOf({ kind: 'platform', service: 'training' }, START);
    const headers = { authorization: `Bearer ${token}` };
    for (let call = 0; call < 5; call++)
      expect((await ask(api, headers)).problem).toBe('forbidden');
    expect(await counters(api)).toEqual({});
  });
});

describe('calls of somebody who is not signed in', () => {
  test('count for the address, together with requests that have no valid key', async () => {
    const members = [makeMember('a', 'gone', { status: 'ended' })];
    const seed = makeSeed([makeTeam('a', { members })]);
    const api = await startApi({ ipLimitPerMinute: 5, seed });
    expect(await ask(api, {})).toMatchObject({ status: 401, codes: ['UNAUTHORIZED'] });
    expect((await ask(api, { authorization: 'Bearer no.token' })).status).toBe(401);
    expect((await ask(api, await bearer('a', 'gone'))).status).toBe(401);
    expect((await fetch(`${api.url}/trpc-session`, { method: 'POST' })).status).toBe(401);
    expect((await api.call(null, 'GET', '/me')).status).toBe(401);
    expect(await ask(api, {})).toMatchObject({ status: 429, codes: ['TOO_MANY_REQUESTS'] });
    expect((await fetch(`${api.url}/trpc-session`, { method: 'POST' })).status).toBe(429);
    expect((await api.call(null, 'GET', '/me')).status).toBe(429);
    expect(await counters(api)).toEqual({ 'ip:127.0.0.1': 5 });
    expect((await ask(api, await bearer('a', 'owner'))).status).toBe(200);
  });

  test('count for the /64 network of an IPv6 address', async () => {
    const api = await startApi({ ipLimitPerMinute: 1, trustProxy: { kind: 'hops', hops: 1 } });
    const status = async (address: string) =>
      (await ask(api, { 'x-forwarded-for': address })).status;
    expect(await status('2001:db8:1:2::1')).toBe(401);
    expect(await status('2001:db8:1:2:ffff::1')).toBe(429);
    expect(await status('2001:db8:1:3::1')).toBe(401);
    expect(await status('198.51.100.1')).toBe(401);
    expect(await status('::ffff:198.51.100.1')).toBe(429);
    expect(await status('198.51.100.1:51234')).toBe(429);
    expect(await status('unknown')).toBe(401);
    expect(await status('_hidden')).toBe(429);
    expect(Object.keys(await counters(api)).toSorted()).toEqual([
      'ip:127.0.0.1',
      'ip:198.51.100.1',
      'ip:2001:db8:1:2::/64',
      'ip:2001:db8:1:3::/64',
    ]);
  });
});

describe('a batch', () => {
  test('counts as many calls as it holds, or none', async () => {
    const api = await startApi({ personLimitPerMinute: 14 });
    const owner = await bearer('a', 'owner');
    expect(await ask(api, owner, batchOf(10))).toMatchObject({ status: 200 });
    expect(await ask(api, owner, batchOf(5))).toMatchObject({ status: 429 });
    expect((await ask(api, owner, batchOf(4))).codes).toEqual([null, null, null, null]);
    expect(await ask(api, owner)).toMatchObject({ status: 429 });
    expect((await counters(api))['team_a app']).toBe(14);
  });

  test.each([
    ['eleven calls', batchOf(11)],
    ['eleven calls with encoded commas', batchOf(11).replaceAll(',', '%2C')],
    ['15 KB of commas', `${','.repeat(15_000)}?batch=1`],
    ['15 KB of encoded commas', `${'%2c'.repeat(5_000)}?batch=1`],
  ])('of more than ten calls gets one short answer (%s)', async (_what, path) => {
    const api = await startApi();
    const refused = await ask(api, await bearer('a', 'owner'), path);
    expect(refused).toMatchObject({
      status: 400,
      codes: ['BAD_REQUEST'],
      problem: 'bad_request',
    });
    expect(refused.text.length).toBeLessThan(1000);
    expect(await counters(api)).toEqual({});
  });

  test('names every call without a batch as one unknown procedure', async () => {
    const api = await startApi();
    const refused = await ask(api, await bearer('a', 'owner'), ','.repeat(15_000));
    expect(refused).toMatchObject({ status: 404, problem: 'not_found' });
    expect(refused.text.length).toBeLessThan(1000);
  });
});

describe('a refused call', () => {
  const call = (api: TestApi, headers: Record<string, string>) => {
    const connection = openConnection(api.port);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const type = 'Content-Type: application/json';
    const length = 'Content-Length: 1000000000';
    connection.send(
      requestBytes('POST /trpc/v1.cases.create HTTP/1.1', [...lines, type, length], '{'),
    );
    return connection;
  };

  test('of a stranger, or over the limit, is answered before its body comes', async () => {
    const api = await startApi({ personLimitPerMinute: 1 });
    const owner = await bearer('a', 'owner');
    await ask(api, owner);
    for (const [headers, status] of [
      [{}, 401],
      [owner, 429],
    ] as const) {
      const connection = call(api, headers);
      const answer = await connection.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([status, 'close']);
      expect(await connection.ended()).toBe('');
    }
  });

  test('of another method than GET and POST is answered before its body comes', async () => {
    const api = await startApi();
    const response = await fetch(`${api.url}/trpc/v1.me.get`, { method: 'PUT', body: '{}' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  });
});
