// A read of a known key begins before its authentication has ended. Nobody may be able to tell,
// except by a watch.
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import type { CreateAuthenticator } from '../../src/http/api/authentication/authenticator.ts';
import { createFastAuthenticator } from '../../src/http/api/authentication/fast-authenticator.ts';
import type { KeyRow } from '../../src/http/api/authentication/key-store.ts';
import { createKnownKeys, type KnownKeys } from '../../src/http/api/authentication/known-keys.ts';
import { toTenant } from '../../src/http/api/authentication/tenant.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { heapBytes } from '../support/heap.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';

/** How many requests were recognized by the key that they have. */
let recognized = 0;
const createAuthenticator: CreateAuthenticator = (options) => {
  const { authenticate, readAgain } = createFastAuthenticator(options);
  return {
    readAgain,
    authenticate: (request) => {
      const pending = authenticate(request);
      if (pending.guess) recognized += 1;
      return pending;
    },
  };
};

let api: TestApi;

/** Each test has a team of its own. */
const TEAMS = ['facts', 'recognized', 'refused', 'stranger', 'write'] as const;

beforeAll(async () => {
  // A team with a slow statement has no room, and its reads would not begin early.
  const seed = makeSeed(TEAMS.map((name) => makeFullTeam(name)));
  api = await startTestApi({ seed, quickStatementMs: 4_000, app: { createAuthenticator } });
});

afterEach(() => vi.restoreAllMocks());

/** Counts how often an operation begins its work: it asks for its team's database. */
function countBegun({ db }: TestApi): () => number {
  const spy = vi.spyOn(db, 'forCaller');
  return () => spy.mock.calls.splice(0).length;
}

const send = async (key: string, path = '/users') => {
  const { status, body } = await api.call(key, 'GET', path);
  return { status, code: (body as { code?: string }).code };
};

describe('a read of a known key', () => {
  test('is not begun again as long as nothing changes, and once more after a change', async () => {
    const key = api.key('team_facts');
    expect(await send(key, '/evaluations')).toMatchObject({ status: 200 });
    const begun = countBegun(api);
    expect(await send(key, '/evaluations')).toMatchObject({ status: 200 });
    expect(begun()).toBe(1);
    await api.db.pool.query(`update team set language = 'en' where id = 'team_facts'`);
    expect(await send(key, '/evaluations')).toMatchObject({ status: 200 });
    expect(begun()).toBe(2);
    expect(await send(key, '/evaluations')).toMatchObject({ status: 200 });
    expect(begun()).toBe(1);
  });

  test('is refused like any other: the key first, whatever the read has found', async () => {
    const key = api.key('team_refused');
    for (const path of ['/users/mem_unknown', '/users?limit=1000', '/users?cursor=broken'])
      expect((await send(key, path)).status).toBeOneOf([404, 422]);
    await api.db.pool.query(`update api_key set revoked_at = now() where team_id = 'team_refused'`);
    for (const path of ['/users/mem_unknown', '/users?limit=1000', '/users?cursor=broken'])
      expect(await send(key, path)).toEqual({ status: 401, code: 'unauthorized' });
  });

  test('begins early only with the whole key, and not after a refusal', async () => {
    const key = api.key('team_stranger');
    await send(key);
    const begun = countBegun(api);
    const other = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    expect((await send(other)).status).toBe(401);
    expect(begun()).toBe(0);
    await api.db.pool.query(
      `update api_key set revoked_at = now() where team_id = 'team_stranger'`,
    );
    expect((await send(key)).status).toBe(401);
    expect(begun()).toBe(1);
    expect((await send(key)).status).toBe(401);
    expect(begun()).toBe(0);
  });

  test('begins when its caller is known, while its team has no room', async () => {
    const key = api.key('team_facts');
    await send(key, '/evaluations');
    const begun = countBegun(api);
    vi.spyOn(api.db, 'hasRoom').mockReturnValue(false);
    await api.db.pool.query(`update team set language = 'de' where id = 'team_facts'`);
    expect(await send(key, '/evaluations')).toMatchObject({ status: 200 });
    expect(begun()).toBe(1);
  });

  test('over the limit is begun at most once', async () => {
    const limited = await startTestApi({
      clock: fixedClock(new Date('2026-11-02T09:00:20.000Z')),
      keyLimitPerMinute: 2,
      seed: makeSeed([makeTeam('a')]),
      quickStatementMs: 4_000,
    });
    const begun = countBegun(limited);
    const statuses: number[] = [];
    for (let call = 0; call < 5; call++)
      statuses.push((await limited.call(limited.key('team_a'), 'GET', '/users')).status);
    expect(statuses).toEqual([200, 200, 429, 429, 429]);
    expect(begun()).toBe(3);
  });
});

test('a write of a known key begins when its caller is known', async () => {
  const key = api.key('team_write');
  await send(key);
  const begun = countBegun(api);
  await api.db.pool.query(`update api_key set revoked_at = now() where team_id = 'team_write'`);
  const { status } = await api.call(key, 'DELETE', '/assignments/asg_write');
  expect(status).toBe(401);
  expect(begun()).toBe(0);
  const { rows } = await api.db.pool.query(`select 1 from assignment where id = 'asg_write'`);
  expect(rows).toHaveLength(1);
});

test('a request is recognized by the whole key only, and not after a refusal', async () => {
  const key = api.key('team_recognized');
  const tell = async (by: string, method = 'GET'): Promise<number> => {
    recognized = 0;
    await api.call(by, method, '/assignments/asg_unknown');
    return recognized;
  };
  expect(await tell(key)).toBe(0);
  expect(await tell(key)).toBe(1);
  expect(await tell(key, 'DELETE')).toBe(1);
  expect(await tell(`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`)).toBe(0);
  await api.db.pool.query(
    `update api_key set revoked_at = now() where team_id = 'team_recognized'`,
  );
  expect(await tell(key)).toBe(1);
  expect(await tell(key)).toBe(0);
});

const credentialOf = (keyPrefix: string) => ({ keyPrefix, proof: Buffer.alloc(32) });

describe('the known keys', () => {
  const remember = (known: KnownKeys, name: string) =>
    known.remember(credentialOf(name), toTenant(readRow(name)));

  test('are bounded, and the one that was asked for least recently is forgotten', () => {
    const known = createKnownKeys(4);
    const names = ['a', 'b', 'c', 'd', 'e'];
    const isKnown = (name: string) => known.find(credentialOf(name)) !== null;
    for (const name of names.slice(0, 4)) remember(known, name);
    expect(names.map(isKnown)).toEqual([true, true, true, true, false]);
    remember(known, 'e');
    expect(names.map(isKnown)).toEqual([false, true, true, true, true]);
    for (const name of names) known.forget(credentialOf(name));
    expect(names.map(isKnown)).toEqual([false, false, false, false, false]);
  });

  test('have the tenant of their last request, whose version changes with each fact', () => {
    const known = createKnownKeys(2);
    const row = readRow('key_1');
    remember(known, 'key_1');
    expect(known.find(credentialOf('key_1'))).toEqual(toTenant(row));
    for (const name of Object.keys(row))
      expect(toTenant({ ...row, [name]: 'other' }).version).not.toBe(toTenant(row).version);
  });

  test('keep nothing of the rows that they were read from', () => {
    const count = 20_000;
    const known = createKnownKeys(count);
    const before = heapBytes();
    for (let n = 0; n < count; n += 1) remember(known, `key_${n}`);
    expect((heapBytes() - before) / count).toBeLessThan(700);
    expect(known.find(credentialOf('key_0'))?.actor.id).toBe('key_0');
  });
});

/** A row as the database's driver reads it: its texts are parts of the text of the whole row. */
function readRow(id: string): KeyRow {
  const scopes = SCOPES.join(' ');
  const whole = [id, scopes, `creator of ${id}`, `team of ${id}`, 'more '.repeat(200)].join('\n');
  const read = (value: string): string => {
    const start = whole.indexOf(value);
    return whole.slice(start, start + value.length);
  };
  return {
    key_id: read(id),
    scopes: read(scopes),
    creator_id: read(`creator of ${id}`),
    creator_role: 'admin',
    creator_status: 'active',
    team_id: read(`team of ${id}`),
    team_status: 'active',
    plan: 'team',
    language: 'en',
    rate_limit_per_min: 600,
    member_detail_enabled: true,
    leaderboard_enabled: true,
  };
}
