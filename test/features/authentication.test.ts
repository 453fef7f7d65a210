// Who is let in, by the facts of now. The plain authenticator defines it, and the fast one must not
// differ: known keys, speculative reads and batches only save time.
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { createFastAuthenticator } from '../../src/http/api/authentication/fast-authenticator.ts';
import { createPlainAuthenticator } from '../../src/http/api/authentication/plain-authenticator.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';

const FULL = `team_id = 'team_a' and name = 'full'`;

/** Each changes what a key may see, and how its next read ends. */
const CHANGES: readonly { sql: string; undo: string; status: number; code?: string }[] = [
  {
    sql: `update team set status = 'suspended' where id = 'team_a'`,
    undo: `update team set status = 'active' where id = 'team_a'`,
    status: 403,
    code: 'api_disabled',
  },
  {
    sql: `update team set plan = 'starter' where id = 'team_a'`,
    undo: `update team set plan = 'team' where id = 'team_a'`,
    status: 403,
    code: 'api_disabled',
  },
  {
    sql: `update team set member_detail_enabled = false where id = 'team_a'`,
    undo: `update team set member_detail_enabled = true where id = 'team_a'`,
    status: 403,
    code: 'privacy_restricted',
  },
  {
    sql: `update api_key set scopes = '{catalog:read}' where ${FULL}`,
    undo: `update api_key set scopes = '{evaluations:read}' where ${FULL}`,
    status: 403,
    code: 'insufficient_scope',
  },
  {
    sql: `update api_key set allowed_ips = '{10.0.0.1}' where ${FULL}`,
    undo: `update api_key set allowed_ips = null where ${FULL}`,
    status: 401,
    code: 'unauthorized',
  },
  {
    sql: `update api_key set revoked_at = now() where ${FULL}`,
    undo: `update api_key set revoked_at = null where ${FULL}`,
    status: 401,
    code: 'unauthorized',
  },
];

describe.each([
  { name: 'plain', createAuthenticator: createPlainAuthenticator, beginsEarly: false },
  { name: 'fast', createAuthenticator: createFastAuthenticator, beginsEarly: true },
])('the $name authenticator', ({ createAuthenticator, beginsEarly }) => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi({
      seed: makeSeed([makeFullTeam('a'), makeFullTeam('b')]),
      // A team with a slow statement has no room, and its reads would not begin early.
      quickStatementMs: 4_000,
      app: { createAuthenticator },
    });
  });

  const send = async (key: string | null, path = '/evaluations', method = 'GET') => {
    const { status, body } = await api.call(key, method, path);
    return { status, code: (body as { code?: string }).code };
  };

  test.each(CHANGES)('answers by the facts of now: $sql', async ({ sql, undo, status, code }) => {
    const key = api.key('team_a');
    expect(await send(key)).toMatchObject({ status: 200 });
    const spy = vi.spyOn(api.db, 'forCaller');
    await api.db.pool.query(sql);
    expect(await send(key)).toEqual({ status, code });
    // Speculatively, for the facts of before.
    expect(spy.mock.calls.length).toBeGreaterThanOrEqual(beginsEarly ? 1 : 0);
    spy.mockRestore();
    await api.db.pool.query(undo);
    expect(await send(key)).toEqual({ status: 200, code: undefined });
  });

  test('answers for the team of the key', async () => {
    for (const id of ['team_a', 'team_b', 'team_a'])
      expect((await api.call(api.key(id), 'GET', '/me')).body).toMatchObject({ tenant_id: id });
  });

  test('refuses in the same order: the path, the key, the team, the scope, the input', async () => {
    const none = api.key('team_b', 'none');
    const full = api.key('team_b');
    const wrong = `${full.slice(0, -1)}${full.endsWith('a') ? 'b' : 'a'}`;
    const badInput = '/users?limit=1000';
    for (let round = 0; round < 2; round += 1) {
      for (const key of [null, wrong]) {
        expect(await send(key, badInput)).toEqual({ status: 401, code: 'unauthorized' });
        expect(await send(key, '/nothing')).toEqual({ status: 404, code: 'not_found' });
      }
      expect(await send(none, badInput)).toEqual({ status: 403, code: 'insufficient_scope' });
      expect(await send(none, '/nothing')).toEqual({ status: 404, code: 'not_found' });
      expect(await send(full, badInput)).toEqual({ status: 422, code: 'validation_error' });
    }
    await api.db.pool.query(`update team set status = 'suspended' where id = 'team_b'`);
    for (let round = 0; round < 2; round += 1) {
      expect(await send(none, badInput)).toEqual({ status: 403, code: 'api_disabled' });
      expect(await send(none, '/nothing')).toEqual({ status: 404, code: 'not_found' });
    }
    await api.db.pool.query(`update team set status = 'active' where id = 'team_b'`);
  });

  test('admits exactly as many requests at once as the limit allows', async () => {
    const limited = await startTestApi({
      clock: fixedClock(new Date('2026-11-02T09:00:20.000Z')),
      keyLimitPerMinute: 11,
      seed: makeSeed([makeTeam('a'), makeTeam('b')]),
      connections: 40,
      app: { createAuthenticator },
    });
    const read = (id: string) => limited.call(limited.key(id), 'GET', '/me');
    const first = [await read('team_a'), await read('team_b')];
    expect(first.map(({ status }) => status)).toEqual([200, 200]);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, n) => read(n % 2 === 0 ? 'team_a' : 'team_b')),
    );
    for (const remainder of [0, 1]) {
      const own = all.filter((_, n) => n % 2 === remainder);
      const admitted = own.filter(({ status }) => status === 200);
      const left = admitted.map(({ headers }) => Number(headers['ratelimit-remaining']));
      expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, n) => n));
      expect(own.filter(({ status }) => status === 429)).toHaveLength(10);
    }
  });
});
