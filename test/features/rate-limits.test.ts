import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startTestApi } from '../support/api.ts';
import { steppedClock } from '../support/clocks.ts';
import { untilWaiting } from '../support/locks.ts';
import { expectRateLimited } from '../support/rate-limits.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const START = new Date('2026-11-02T09:00:20.000Z');
const twoKeys = { api_keys: [{ name: 'second', scopes: 'all' as const }] };

describe('rate limits', () => {
  test('the limit of a key ends in a 429 with Retry-After, and restarts each minute', async () => {
    const clock = fixedClock(START);
    const api = await startTestApi({
      clock,
      keyLimitPerMinute: 3,
      seed: makeSeed([makeTeam('a')]),
    });
    const key = api.key('team_a');
    const left: string[] = [];
    for (let call = 0; call < 3; call++)
      left.push((await api.call(key, 'GET', '/me')).headers['ratelimit-remaining'] ?? '');
    expect(left).toEqual(['2', '1', '0']);
    const refused = await api.call(key, 'GET', '/me');
    expectRateLimited(refused, { limit: 3, retryAfterS: 40 });
    expect(refused.body.detail).toBe(
      'This key has made its 3 requests of this minute. Wait 40 s, as Retry-After says.',
    );
    clock.set(new Date(START.getTime() + 40_000));
    expect((await api.call(key, 'GET', '/me')).headers).toMatchObject({
      'ratelimit-remaining': '2',
      'ratelimit-reset': '60',
    });
  });

  test('the headers show the limit of the key or the team, whichever has less left', async () => {
    const api = await startTestApi({
      clock: fixedClock(START),
      keyLimitPerMinute: 4,
      seed: makeSeed([makeTeam('a', { ...twoKeys, rate_limit_per_min: 5 })]),
    });
    const call = async (name: string) =>
      (await api.call(api.key('team_a', name), 'GET', '/me')).headers;
    expect(await call('full')).toMatchObject({
      'ratelimit-limit': '4',
      'ratelimit-remaining': '3',
    });
    expect(await call('full')).toMatchObject({
      'ratelimit-limit': '4',
      'ratelimit-remaining': '2',
    });
    expect(await call('second')).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '2',
    });
  });

  test('a request refused by the limit of team or key does not count for the other', async () => {
    const clock = fixedClock(START);
    const api = await startTestApi({
      clock,
      keyLimitPerMinute: 3,
      seed: makeSeed([makeTeam('a', { ...twoKeys, rate_limit_per_min: 4 })]),
    });
    const whose = new Set<string>();
    const call = async (name: string) => {
      const { status, body } = await api.call(api.key('team_a', name), 'GET', '/me');
      if (status === 429) whose.add(`${name}: ${body.detail}`);
      return status;
    };
    expect([
      await call('full'),
      await call('full'),
      await call('full'),
      await call('full'),
      await call('full'),
    ]).toEqual([200, 200, 200, 429, 429]);
    expect([await call('second'), await call('second')]).toEqual([200, 429]);
    expect([...whose]).toEqual([
      expect.stringMatching(/^full: This key has made its 3 requests/),
      expect.stringMatching(/^second: The keys of the team have made their 4 requests/),
    ]);
    const { rows } = await api.db.pool.query(
      `select bucket, count
       from team_counter
       order by count`,
    );
    expect(rows.map((row: { count: number }) => row.count)).toEqual([1, 3, 4]);
  });

  test('requests without a valid key count for the address, never for a team', async () => {
    const api = await startTestApi({
      clock: fixedClock(START),
      ipLimitPerMinute: 2,
      seed: makeSeed([makeTeam('a')]),
    });
    expect((await api.call(null, 'GET', '/me')).headers).toMatchObject({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
    });
    expect(
      (await api.call('svck_live_deadbeef_aaaaaaaaaaaaaaaaaaaaaaaa', 'GET', '/users')).status,
    ).toBe(401);
    expect((await api.call(null, 'GET', '/me')).status).toBe(429);
    expect((await api.call(null, 'GET', '/no/such/path')).status).toBe(429);
    expect((await api.call(api.key('team_a'), 'GET', '/me')).status).toBe(200);
  });

  test('addresses behind a trusted proxy count apart; an untrusted header is ignored', async () => {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
    const trusted = await startTestApi({
      ipLimitPerMinute: 1,
      clock: fixedClock(START),
      trustProxy: { kind: 'hops', hops: 1 },
      seed: makeSeed([makeTeam('a')]),
    });
    expect((await trusted.call(null, 'GET', '/me', from('198.51.100.1'))).status).toBe(401);
    expect((await trusted.call(null, 'GET', '/me', from('198.51.100.2'))).status).toBe(401);
    expect((await trusted.call(null, 'GET', '/me', from('203.0.113.9, 198.51.100.2'))).status).toBe(
      429,
    );
    const direct = await startTestApi({
      ipLimitPerMinute: 1,
      clock: fixedClock(START),
      seed: makeSeed([makeTeam('a')]),
    });
    expect((await direct.call(null, 'GET', '/me', from('198.51.100.1'))).status).toBe(401);
    expect((await direct.call(null, 'GET', '/me', from('198.51.100.2'))).status).toBe(429);
  });

  test.each([
    ['two addresses of one IPv6 /64', '2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['two IPv6 /64s of one /63', '2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['two spellings of one IPv6 address', '2001:DB8:0:0:0:0:0:A', '2001:db8::a', true],
    ['an IPv6 address with and without a zone', 'fe80::1%eth0', 'fe80::1', true],
    ['an IPv4 address and its mapped form', '198.51.100.1', '::ffff:198.51.100.1', true],
    ['its mapped form in hexadecimal', '198.51.100.1', '::FFFF:c633:6401', true],
    ['its mapped form written out', '198.51.100.1', '0:0:0:0:0:ffff:198.51.100.1', true],
    ['two mapped IPv4 addresses', '::ffff:c633:6401', '::ffff:c633:6402', false],
    ['an IPv4 address and one that only resembles its mapped form', '0.0.0.5', '::ffff:5', false],
    ['an IPv4 address and its former compatible form', '198.51.100.1', '::198.51.100.1', false],
    ['an IPv6 address and no address', '2001:db8::1', 'not an address', false],
    ['an address with two ports', '198.51.100.1:51234', '198.51.100.1:51235', true],
    ['two addresses with one port', '198.51.100.1:51234', '198.51.100.2:51234', false],
    ['an IPv6 address with and without a port', '[2001:db8::1]:443', '2001:db8::1', true],
    ['two proxies that write no address', 'unknown', '_hidden', true],
  ])('%s: %s and %s share a bucket: %s', async (_what, one, other, shared) => {
    const api = await startTestApi({
      ipLimitPerMinute: 1,
      clock: fixedClock(START),
      trustProxy: { kind: 'hops', hops: 1 },
      seed: makeSeed([makeTeam('a')]),
    });
    const status = async (address: string) =>
      (await api.call(null, 'GET', '/me', { headers: { 'x-forwarded-for': address } })).status;
    expect(await status(one)).toBe(401);
    expect(await status(other)).toBe(shared ? 429 : 401);
  });

  test.each([
    ['one hop', { kind: 'hops', hops: 1 }, []],
    ['two hops', { kind: 'hops', hops: 2 }, ['10.0.0.7:4411']],
    ['networks', { kind: 'cidrs', cidrs: ['127.0.0.0/8', '10.0.0.0/8'] }, ['10.0.0.7:4411']],
    [
      'mapped networks',
      { kind: 'cidrs', cidrs: ['::ffff:127.0.0.0/104', '10.0.0.7'] },
      ['"[::ffff:10.0.0.7]:4411"', ' '],
    ],
  ] as const)(
    'behind %s, callers without a readable address share the limit of their proxy',
    async (_what, trustProxy, proxies) => {
      const api = await startTestApi({
        ipLimitPerMinute: 2,
        clock: fixedClock(START),
        trustProxy,
        seed: makeSeed([makeTeam('a')]),
      });
      const status = (localAddress: string, client: string) =>
        statusFrom(api.url, localAddress, [client, ...proxies].join(', '));
      expect(await status('127.0.0.1', 'unknown')).toBe(401);
      expect(await status('127.0.0.1', '203.0.113.9, not an address')).toBe(401);
      expect(await status('127.0.0.1', '_hidden')).toBe(429);
      expect(await status('127.0.0.2', '_hidden')).toBe(401);
      expect(await status('127.0.0.1', '203.0.113.9:1')).toBe(401);
    },
  );

  test('an address that cannot be read is logged once a minute, without its digits', async () => {
    const clock = steppedClock(START);
    const warnings: unknown[] = [];
    const api = await startTestApi({
      clock,
      trustProxy: { kind: 'hops', hops: 1 },
      seed: makeSeed([makeTeam('a')]),
      onLog: (line) => {
        const { level, time: _time, pid: _pid, hostname: _hostname, ...rest } = JSON.parse(line);
        if (level === 40) warnings.push(rest);
      },
    });
    const send = (address: string) => statusFrom(api.url, '127.0.0.1', address);
    for (const address of ['198.51.100.1:51234', '198.51.100.1;51234', 'unknown'])
      expect(await send(address)).toBe(401);
    const msg = 'the client address that a proxy sent cannot be read';
    const first = { proxy: '127.0.0.1', form: '000.00.000.0;00000', msg };
    expect(warnings).toEqual([first]);
    clock.advance(59_999);
    await send('unknown');
    expect(warnings).toEqual([first]);
    clock.advance(1);
    await send('unknown'.padEnd(200, 'n'));
    expect(warnings).toEqual([first, { proxy: '127.0.0.1', form: 'unknown'.padEnd(64, 'n'), msg }]);
  });
});

/** The status of a request without a key, from another address of this machine. */
async function statusFrom(url: string, localAddress: string, forwardedFor: string) {
  const call = request(`${url}${BASE_PATH}/me`, {
    agent: false,
    localAddress,
    headers: { 'x-forwarded-for': forwardedFor },
  }).end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'close');
  return response.statusCode;
}

describe('a request that reads the clock before a minute’s boundary and counts after it', () => {
  const LATE = new Date('2026-11-02T09:00:59.000Z');
  const NEXT = new Date('2026-11-02T09:01:05.000Z');
  const nextMinute = Math.floor(NEXT.getTime() / 60_000);

  test.each([
    ['key', { keyLimitPerMinute: 2 }, {}, 'full'],
    ['team', {}, { rate_limit_per_min: 2 }, 'full'],
    ['address', { ipLimitPerMinute: 2 }, {}, null],
  ])(
    'counts in the newer window, and does not restart it (%s)',
    async (_of, limits, team, name) => {
      const clock = fixedClock(LATE);
      const api = await startTestApi({ clock, ...limits, seed: makeSeed([makeTeam('a', team)]) });
      const call = async (at: Date) => {
        clock.set(at);
        return api.call(name && api.key('team_a', name), 'GET', '/me');
      };
      const left = async (at: Date) => {
        const { headers } = await call(at);
        return [headers['ratelimit-remaining'], headers['ratelimit-reset']];
      };
      expect(await left(LATE)).toEqual(['1', '1']);
      expect(await left(NEXT)).toEqual(['1', '55']);
      expect(await left(LATE)).toEqual(['0', '60']);
      expectRateLimited(await call(LATE), { limit: 2, retryAfterS: 60 });
      expectRateLimited(await call(NEXT), { limit: 2, retryAfterS: 55 });
    },
  );

  test('is taken back from the newer window of its key if the team refuses it', async () => {
    const clock = fixedClock(NEXT);
    const api = await startTestApi({
      clock,
      seed: makeSeed([makeTeam('a', { ...twoKeys, rate_limit_per_min: 2 })]),
    });
    const call = (name: string) => api.call(api.key('team_a', name), 'GET', '/me');
    expect([(await call('full')).status, (await call('second')).status]).toEqual([200, 200]);
    clock.set(LATE);
    expectRateLimited(await call('full'), { limit: 2, retryAfterS: 60 });
    const { rows } = await api.db.pool.query(
      'select minute, count from team_counter order by bucket',
    );
    expect(rows).toEqual([1, 1, 2].map((count) => ({ minute: nextMinute, count })));
  });

  test('moves the team’s window to that of its key', async () => {
    const clock = fixedClock(NEXT);
    const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
    const call = () => api.call(api.key('team_a'), 'GET', '/me');
    await call();
    await api.db.pool.query(`update team_counter set minute = minute - 1 where bucket = 'keys'`);
    clock.set(LATE);
    await call();
    const { rows } = await api.db.pool.query(
      'select minute, count from team_counter order by bucket',
    );
    expect(rows).toEqual([2, 1].map((count) => ({ minute: nextMinute, count })));
  });

  test.each([
    ['key', { keyLimitPerMinute: 2 }, {}, 'full'],
    ['team', {}, { rate_limit_per_min: 2 }, 'full'],
    ['address', { ipLimitPerMinute: 2 }, {}, null],
  ])('waits for the lock of the counter over the boundary (%s)', async (of, limits, team, name) => {
    const clock = fixedClock(LATE);
    const api = await startTestApi({ clock, ...limits, seed: makeSeed([makeTeam('a', team)]) });
    const call = () => api.call(name && api.key('team_a', name), 'GET', '/me');
    expect((await call()).headers['ratelimit-remaining']).toBe('1');

    const holder = new Client({ connectionString: api.databaseUrl });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin');
    const [counter] = (
      await holder.query<{ bucket: string }>(
        of === 'address'
          ? 'select bucket from rate_counter'
          : 'select bucket from team_counter where bucket like $1',
        of === 'address' ? [] : [of === 'team' ? 'keys' : 'key:%'],
      )
    ).rows;
    await holder.query(
      of === 'address'
        ? 'update rate_counter set minute = $2, count = 1 where bucket = $1'
        : 'update team_counter set minute = $2, count = 1 where bucket = $1',
      [counter?.bucket, nextMinute],
    );
    const late = call();
    await untilWaiting(api, 1);
    await holder.query('commit');

    expect((await late).headers).toMatchObject({
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
    });
    clock.set(NEXT);
    expectRateLimited(await call(), { limit: 2, retryAfterS: 55 });
  });
});

describe('allowed addresses of a key', () => {
  const key = (name: string, allowed_ips: string[]) => ({
    name,
    scopes: 'all' as const,
    allowed_ips,
  });

  test('addresses in its networks pass; others get the same 401 as an unknown key', async () => {
    const seed = makeSeed([
      makeTeam('a', {
        api_keys: [
          key('local', ['127.0.0.0/8']),
          key('v6', ['2001:db8::/32']),
          key('one', ['198.51.100.7']),
          key('one v6', ['2001:db8:1:2::5']),
        ],
      }),
    ]);
    const api = await startTestApi({
      seed,
      trustProxy: { kind: 'cidrs', cidrs: ['127.0.0.1/32'] },
    });
    const status = async (name: string, address?: string) =>
      (
        await api.call(
          api.key('team_a', name),
          'GET',
          '/me',
          address ? { headers: { 'x-forwarded-for': address } } : {},
        )
      ).status;
    expect(await status('local')).toBe(200);
    expect(await status('local', '10.0.0.1')).toBe(401);
    expect(await status('v6', '2001:db8:1::5')).toBe(200);
    expect(await status('v6', '2001:db9::5')).toBe(401);
    expect(await status('one', '198.51.100.7')).toBe(200);
    expect(await status('one', '::ffff:198.51.100.7')).toBe(200);
    expect(await status('one', '::FFFF:C633:6407')).toBe(200);
    expect(await status('one', '::198.51.100.7')).toBe(401);
    expect(await status('one v6', '2001:DB8:1:2:0::5')).toBe(200);
    expect(await status('one v6', '2001:db8:1:2::6')).toBe(401);
    expect(await status('one', 'fe80::1%eth0')).toBe(401);
    expect(await status('one', 'not an address')).toBe(401);
    expect(await status('one', '198.51.100.7:51234')).toBe(200);
    expect(await status('one', '[::ffff:198.51.100.7]:51234')).toBe(200);
    expect(await status('one', 'for=198.51.100.7')).toBe(200);
    expect(await status('one', '198.51.100.8:51234')).toBe(401);
    expect(await status('one v6', '[2001:db8:1:2::5]')).toBe(200);
    expect(await status('one v6', '"[2001:db8:1:2::5]:51234"')).toBe(200);
    expect(await status('one v6', '[2001:db8:1:2::6]:51234')).toBe(401);
    // The address of the proxy is not that of the caller.
    for (const unreadable of ['unknown', '_hidden', '127.0.0.1;80', '[::ffff:127.0.0.1'])
      expect(await status('local', unreadable)).toBe(401);
  });

  test('a revoked or expired key, or a changed list, is refused at the next request', async () => {
    const clock = fixedClock(START);
    const expires_at = new Date(START.getTime() + 1000).toISOString();
    const seed = makeSeed([
      makeTeam('a', {
        api_keys: [key('listed', ['127.0.0.1']), { name: 'short', scopes: 'all', expires_at }],
      }),
    ]);
    const api = await startTestApi({ clock, seed });
    const status = async (name: string) =>
      (await api.call(api.key('team_a', name), 'GET', '/me')).status;
    expect([await status('full'), await status('listed'), await status('short')]).toEqual([
      200, 200, 200,
    ]);
    await api.db.pool.query(`update api_key set revoked_at = $1 where name = 'full'`, [START]);
    await api.db.pool.query(
      `update api_key set allowed_ips = '{10.0.0.0/8}' where name = 'listed'`,
    );
    clock.advance(1000);
    expect([await status('full'), await status('listed'), await status('short')]).toEqual([
      401, 401, 401,
    ]);
  });
});
