// What an operator learns of a refused call, and its caller does not: which limit it was, and which
// key is not valid and why.
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startRequestLog, type RequestLog } from '../../src/features/requests/log.ts';
import { createFastAuthenticator } from '../../src/http/api/authentication/fast-authenticator.ts';
import { createPlainAuthenticator } from '../../src/http/api/authentication/plain-authenticator.ts';
import { trace } from '../../src/trace/service.ts';
import { formatTrace } from '../../src/trace/text.ts';
import { startTestApi, type TestApiOptions } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

type Line = Readonly<Record<string, unknown>>;

/** An API, with what it logs of a request. */
async function startLogged(options: TestApiOptions) {
  const lines: Line[] = [];
  const api = await startTestApi({
    ...options,
    onLog: (line) => void lines.push(JSON.parse(line) as Line),
  });
  /** The line of a request, which comes after the response. */
  const lineOf = (id: string | string[] | undefined): Promise<Line> =>
    until(() => lines.find((line) => line['request_id'] === id));
  return { api, lineOf };
}

/** The public part of a key. */
const prefixOf = (key: string): string => key.split('_')[2] ?? '';
const UNKNOWN = `svck_live_deadbeef_${'a'.repeat(24)}`;

describe.each([
  { name: 'plain', createAuthenticator: createPlainAuthenticator },
  { name: 'fast', createAuthenticator: createFastAuthenticator },
])('with the $name authenticator', ({ createAuthenticator }) => {
  test('a 401 names the public part of its key and the reason, in the log alone', async () => {
    const keys = ['gone', 'over', 'bound', 'twice'].map((name) => ({
      name,
      scopes: 'all' as const,
    }));
    const { api, lineOf } = await startLogged({
      seed: makeSeed([makeTeam('a', { api_keys: keys })]),
      app: { createAuthenticator },
    });
    const key = (name: string): string => api.key('team_a', name);
    // The fast one knows them then.
    for (const name of ['gone', 'over', 'bound', 'twice'])
      expect((await api.call(key(name), 'GET', '/me')).status).toBe(200);
    for (const [name, change] of [
      ['gone', 'revoked_at = now()'],
      ['over', 'expires_at = now()'],
      ['bound', `allowed_ips = '{10.0.0.1}'`],
      ['twice', `revoked_at = now(), expires_at = now(), allowed_ips = '{10.0.0.1}'`],
    ])
      await api.db.pool.query(`update api_key set ${change} where name = $1`, [name]);
    const wrong = `${key('gone').slice(0, -4)}0000`;
    const cases: readonly [given: string | null, prefix: string | undefined, refusal: string][] = [
      [key('gone'), prefixOf(key('gone')), 'revoked'],
      [key('over'), prefixOf(key('over')), 'expired'],
      [key('bound'), prefixOf(key('bound')), 'other_address'],
      [key('twice'), prefixOf(key('twice')), 'revoked'],
      [wrong, prefixOf(wrong), 'wrong_secret'],
      [UNKNOWN, 'deadbeef', 'unknown'],
      ['svck_live_short', undefined, 'malformed'],
      [`${key('full')}!`, undefined, 'malformed'],
      [null, undefined, 'no_key'],
    ];
    const answers = new Set<string>();
    for (const [given, prefix, refusal] of cases) {
      const refused = await api.call(given, 'GET', '/me');
      expect(refused.status).toBe(401);
      const line = await lineOf(refused.headers['x-request-id']);
      expect([line['key_prefix'], line['refusal']]).toEqual([prefix, refusal]);
      expect(line['code']).toBe('unauthorized');
      expect(line).not.toHaveProperty('team');
      expect(line).not.toHaveProperty('key');
      const secret = given?.split('_')[3] ?? 'no secret';
      expect(JSON.stringify(line)).not.toContain(secret.slice(0, 8));
      if (prefix !== undefined)
        answers.add(
          refused.text.replace(/"request_id":"[^"]+"/, '') + Object.keys(refused.headers),
        );
    }
    // Whoever has a key of the right form cannot tell the reasons apart.
    expect([...answers]).toHaveLength(1);
  });

  test('a valid key is told by its id, and has no reason', async () => {
    const { api, lineOf } = await startLogged({
      seed: makeSeed([makeTeam('a')]),
      app: { createAuthenticator },
    });
    const { headers } = await api.call(api.key('team_a'), 'GET', '/me');
    const line = await lineOf(headers['x-request-id']);
    expect(line).toMatchObject({ team: 'team_a', key: expect.stringMatching(/^key_/) });
    for (const name of ['key_prefix', 'refusal', 'limit', 'code'])
      expect(line).not.toHaveProperty(name);
    await api.db.pool.query(`update team set status = 'suspended'`);
    const closed = await api.call(api.key('team_a'), 'GET', '/me');
    expect(await lineOf(closed.headers['x-request-id'])).toMatchObject({
      status: 403,
      code: 'api_disabled',
      team: 'team_a',
    });
    const document = await fetch(`${api.base}/openapi.v1.json`);
    const ofDocument = await lineOf(document.headers.get('x-request-id') ?? '');
    expect(ofDocument).not.toHaveProperty('refusal');
  });
});

test('two headers Authorization are a reason of their own', async () => {
  const { api, lineOf } = await startLogged({ seed: makeSeed([makeTeam('a')]) });
  const authorization = [`Bearer ${api.key('team_a')}`, `Bearer ${UNKNOWN}`];
  const id = await new Promise<string>((resolve, reject) => {
    request(
      `${api.base}/me`,
      { headers: { authorization: authorization as never } },
      (response) => {
        response.resume();
        resolve(String(response.headers['x-request-id']));
      },
    )
      .on('error', reject)
      .end();
  });
  const line = await lineOf(id);
  expect([line['refusal'], line['key_prefix']]).toEqual(['several_keys', undefined]);
});

describe('a refused call is told with its limit', () => {
  const clock = fixedClock(new Date('2026-11-02T09:00:20.000Z'));

  test('of the key, of the team, of the address', async () => {
    const second = { api_keys: [{ name: 'second', scopes: 'all' as const }] };
    const { api, lineOf } = await startLogged({
      clock,
      keyLimitPerMinute: 2,
      ipLimitPerMinute: 0,
      seed: makeSeed([makeTeam('a', { ...second, rate_limit_per_min: 3 })]),
    });
    const limitOf = async (key: string | null): Promise<unknown> => {
      const { headers, text } = await api.call(key, 'GET', '/me');
      expect(text).not.toContain('_rate');
      return (await lineOf(headers['x-request-id']))['limit'];
    };
    const full = api.key('team_a');
    expect([await limitOf(full), await limitOf(full), await limitOf(full)]).toEqual([
      undefined,
      undefined,
      'key_rate',
    ]);
    const other = api.key('team_a', 'second');
    expect([await limitOf(other), await limitOf(other)]).toEqual([undefined, 'team_rate']);
    expect(await limitOf(null)).toBe('address_rate');
    // Which key it was counts there, too.
    const { headers } = await api.call(UNKNOWN, 'GET', '/me');
    expect(await lineOf(headers['x-request-id'])).toMatchObject({
      status: 429,
      limit: 'address_rate',
      key_prefix: 'deadbeef',
      refusal: 'unknown',
    });
  });

  test('of a person, of the size of a body', async () => {
    const { api, lineOf } = await startLogged({
      personLimitPerMinute: 1,
      seed: makeSeed([makeTeam('a')]),
    });
    const token = await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' });
    const ask = () =>
      fetch(`${api.url}/trpc/v1.me.get?input={}`, {
        headers: { authorization: `Bearer ${token}` },
      });
    // A minute may begin between two calls.
    const refused = await until(async () => {
      const answer = await ask();
      return answer.status === 429 ? answer : null;
    });
    expect(await lineOf(refused.headers.get('x-request-id') ?? '')).toMatchObject({
      msg: 'call',
      code: 'rate_limited',
      limit: 'person_rate',
    });
    const rawBody = `{"email":"${'a'.repeat(1_100_000)}"}`;
    const large = await api.call(api.key('team_a'), 'POST', '/users', { rawBody });
    expect(await lineOf(large.headers['x-request-id'])).toMatchObject({
      status: 413,
      limit: 'body_size',
    });
  });

  test('of what may wait for the database, also by Prisma', async () => {
    const { api, lineOf } = await startLogged({
      connections: 110,
      seed: makeSeed([makeTeam('a')]),
    });
    const read = () => api.call(api.key('team_a'), 'GET', '/webhook-endpoints');
    expect((await read()).status).toBe(200);
    await holdLock(api, lockWhole('webhook_endpoint'));
    const answers = await Promise.all(Array.from({ length: 110 }, read));
    // The first line of each: it would be one about a fault of ours, if there were any.
    const first = await Promise.all(answers.map(({ headers }) => lineOf(headers['x-request-id'])));
    expect(first).toContainEqual(
      expect.objectContaining({ msg: 'request', status: 503, limit: 'team_queue_length' }),
    );
  });

  test('in the request log, which only operators ask for it', async () => {
    const log = Promise.withResolvers<RequestLog>();
    const api = await startTestApi({
      clock,
      keyLimitPerMinute: 1,
      seed: makeSeed([makeTeam('a')]),
      app: { logRequest: (call) => void log.promise.then(({ add }) => add(call)) },
    });
    const failWith = (error: unknown): never => expect.fail(String(error));
    const running = startRequestLog({
      db: api.db,
      onError: failWith,
      onLeftOut: failWith,
      onRefused: (_call, error) => failWith(error),
    });
    log.resolve(running);
    const key = api.key('team_a');
    expect((await api.call(key, 'GET', '/me')).status).toBe(200);
    const refused = await api.call(key, 'GET', '/me');
    expect(refused.status).toBe(429);
    const id = String(refused.headers['x-request-id']);
    await running.stop();
    const result = await trace(api.db, { id, teamId: null, now: new Date() });
    expect(result).toMatchObject({ requests: [{ status: 429, limited_by: 'key_rate' }] });
    expect(formatTrace(result, 100).replaceAll(/\s+/g, ' ')).toContain(
      'error_code: rate_limited, limited_by: key_rate',
    );
    // The customer's own log has what it had before.
    clock.advance(60_000);
    const own = await api.call(key, 'GET', `/requests/${id}`);
    expect(own.body).toMatchObject({ id, status: 429, error_code: 'rate_limited' });
    expect(own.text).not.toContain('key_rate');
  });
});
