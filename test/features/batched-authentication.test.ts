// Requests of known keys that come at once are authenticated in one statement. Nobody may be able
// to tell, except by a watch.
import { randomBytes } from 'node:crypto';
import {
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { fixedClock, systemClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/db/connections/database.ts';
import {
  authenticateRequest,
  authenticateBatch,
  type AdmittedRow,
  type AuthenticationRow,
} from '../../src/http/api/authentication/key-store.ts';
import { readCredential } from '../../src/http/api/authentication/credential.ts';
import {
  createBatchedAuthentication,
  type KnownRequest,
} from '../../src/http/api/authentication/batched-authentication.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { steppedClock } from '../support/clocks.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { nextTurn } from '../support/turns.ts';
import { until } from '../support/until.ts';
import { waitToConnect } from '../support/wire.ts';

const NOW = new Date('2026-11-02T09:00:20.000Z');
const names = Array.from({ length: 12 }, (_, n) => `t${n}`);
const teamIds = names.map((name) => `team_${name}`);

/** An API whose teams' keys are known, and were counted once. */
async function startKnown(options: Partial<Parameters<typeof startTestApi>[0]> = {}) {
  const api = await startTestApi({
    clock: fixedClock(NOW),
    seed: makeSeed(names.map((name) => makeTeam(name))),
    connections: 100,
    quickStatementMs: 4_000,
    ...options,
  });
  for (const id of teamIds) expect((await read(api, id)).status).toBe(200);
  return api;
}

const read = (api: TestApi, teamId: string): Promise<ApiResponse> =>
  api.call(api.key(teamId), 'GET', '/me');

/** Counts the keys that were authenticated in batches. */
function countBatched({ db }: TestApi): () => number {
  const spy = vi.spyOn(db, 'query');
  onTestFinished(() => spy.mockRestore());
  return () =>
    spy.mock.calls
      .filter(([what]) => what.name === 'http.authenticateBatch')
      .reduce((sum, [, values]) => sum + (values[0] as unknown[]).length, 0);
}

const counts = async (api: TestApi): Promise<Record<string, number>> => {
  const { rows } = await api.db.pool.query<{ team: string; count: number }>(
    `select team_id || ' ' || split_part(bucket, ':', 1) as team, count from team_counter`,
  );
  return Object.fromEntries(rows.map(({ team, count }) => [team, count]));
};

const leftOf = ({ headers }: ApiResponse): number => Number(headers['ratelimit-remaining']);

describe('requests at once', () => {
  test('are counted one by one, and each gets a rate of its own', async () => {
    const api = await startKnown({ keyLimitPerMinute: 1000 });
    const batched = countBatched(api);
    const rounds = 8;
    const all = teamIds.flatMap((id) => Array.from({ length: rounds }, () => id));
    const responses = await Promise.all(all.map((id) => read(api, id)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    for (const id of teamIds) {
      const own = responses.filter((_, place) => all[place] === id);
      expect(own.map(leftOf).toSorted((a, b) => b - a)).toEqual(
        Array.from({ length: rounds }, (_, n) => 998 - n),
      );
      for (const { body } of own) expect(body).toMatchObject({ tenant_id: id });
    }
    expect(batched()).toBeGreaterThanOrEqual(teamIds.length);
    expect(await counts(api)).toEqual(
      Object.fromEntries(
        teamIds.flatMap((id) => [`${id} key`, `${id} keys`].map((name) => [name, rounds + 1])),
      ),
    );
  });

  test.each([
    ['key', { keyLimitPerMinute: 11 }, {}],
    ['team', {}, { rate_limit_per_min: 11 }],
  ])('end exactly at the limit of the %s', async (_of, limits, team) => {
    const seed = makeSeed(names.map((name) => makeTeam(name, team)));
    const api = await startKnown({ ...limits, seed });
    const batched = countBatched(api);
    const all = [...teamIds, ...Array.from({ length: 30 }, () => 'team_t0')];
    const responses = await Promise.all(all.map((id) => read(api, id)));
    const own = responses.filter((_, place) => all[place] === 'team_t0');
    expect(
      own
        .filter(({ status }) => status === 200)
        .map(leftOf)
        .toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 10 }, (_, n) => n));
    expect(own.filter(({ status }) => status === 429)).toHaveLength(21);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(21);
    expect(batched()).toBeGreaterThanOrEqual(teamIds.length);
    expect(await counts(api)).toMatchObject({ 'team_t0 key': 11, 'team_t0 keys': 11 });
  });

  test('of a key that was revoked, or of a team that was suspended, are refused', async () => {
    const api = await startKnown();
    await api.db.pool.query(
      `update api_key set revoked_at = '2026-11-01' where team_id = 'team_t1'`,
    );
    await api.db.pool.query(`update team set status = 'suspended' where id = 'team_t2'`);
    await api.db.pool.query(`update api_key set scopes = '{}' where team_id = 'team_t3'`);
    const batched = countBatched(api);
    const responses = await Promise.all(
      teamIds.map((id) => api.call(api.key(id), 'GET', '/users')),
    );
    expect(batched()).toBe(teamIds.length);
    const refused: Record<number, object> = {
      1: { status: 401, body: { code: 'unauthorized' } },
      2: { status: 403, body: { code: 'api_disabled' } },
      3: { status: 403, body: { code: 'insufficient_scope' } },
    };
    responses.forEach((response, place) =>
      expect(response).toMatchObject(refused[place] ?? { status: 200 }),
    );
    expect(await counts(api)).toMatchObject({ 'team_t1 key': 1, 'team_t2 key': 2 });
  });

  test('are batched even if there is only one, read or write', async () => {
    const api = await startKnown();
    const batched = countBatched(api);
    const body = { email: 'new@t0.test' };
    expect((await api.call(api.key('team_t0'), 'POST', '/users', { body })).status).toBe(201);
    expect(batched()).toBe(1);
    expect((await read(api, 'team_t0')).status).toBe(200);
    expect(batched()).toBe(2);
    expect(await counts(api)).toMatchObject({ 'team_t0 key': 3, 'team_t0 keys': 3 });
  });

  test('are asked for one by one on a distributed database', async () => {
    const api = await startKnown();
    const spy = vi.spyOn(api.db, 'isPlain').mockReturnValue(false);
    onTestFinished(() => spy.mockRestore());
    const batched = countBatched(api);
    const responses = await Promise.all(teamIds.map((id) => read(api, id)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(batched()).toBe(0);
  });

  test('do not wait for a team whose counters are locked', async () => {
    // Statements of others may stand behind the one that waits, until it leaves the shared line.
    const api = await startKnown({ quickStatementMs: 150, statementTimeoutMs: 60_000 });
    const release = await holdLock(
      api,
      `select from team_counter where team_id = 'team_t5' and bucket = 'keys' for update`,
    );
    const batched = countBatched(api);
    const locked = { isAnswered: false };
    const responses = teamIds.map(async (id) => {
      const response = await read(api, id);
      if (id === 'team_t5') locked.isAnswered = true;
      return response;
    });
    const others = await Promise.all(responses.filter((_, place) => place !== 5));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
    expect(batched()).toBe(teamIds.length);
    await untilWaiting(api, 1);
    expect(locked.isAnswered).toBe(false);
    await release();
    expect((await responses[5])?.status).toBe(200);
    expect(await counts(api)).toMatchObject({ 'team_t5 key': 2, 'team_t5 keys': 2 });
  });
});

describe('the statement', () => {
  let api: TestApi;
  const nonce = randomBytes(16);
  const terms = { nonce, keyPerMinute: 100, ipPerMinute: 100, now: NOW };

  beforeAll(async () => {
    const api_keys = [
      { name: 'few', scopes: ['users:read' as const, 'cases:read' as const] },
      { name: 'local', scopes: 'all' as const, allowed_ips: ['10.0.0.0/8'] },
    ];
    api = await startTestApi({
      clock: fixedClock(NOW),
      seed: makeSeed([makeTeam('a', { api_keys, rate_limit_per_min: 50 }), makeTeam('b')]),
    });
  });

  const knownOf = (
    name: string,
    teamId = 'team_a',
    ip: string | null = '10.1.2.3',
  ): KnownRequest => {
    const { keyPrefix, proof } = readCredential(`Bearer ${api.key(teamId, name)}`, nonce);
    return { teamId, keyPrefix: keyPrefix ?? '', proof, ip };
  };
  const alone = (request: KnownRequest): Promise<AuthenticationRow> =>
    authenticateRequest(api.db, { ...terms, ...request });
  const batched = (...keys: KnownRequest[]) =>
    authenticateBatch(
      api.db,
      terms,
      keys.map((key) => ({ ...key, calls: 1 })),
    );

  test.each([
    ['full', 'team_a'],
    ['few', 'team_a'],
    ['none', 'team_a'],
    ['local', 'team_a'],
    ['full', 'team_b'],
  ])('knows of a key what it alone knows: %s of %s', async (name, teamId) => {
    const first = await alone(knownOf(name, teamId));
    const [second, ...others] = await batched(knownOf(name, teamId));
    expect(others).toEqual([]);
    const third = await alone(knownOf(name, teamId));
    const left = first.bucket_remaining;
    // It returns no key that is not valid, so it has no reason why.
    const { key_fault: fault, ...facts } = first;
    expect(fault).toBeNull();
    // Two keys of one team share its limit, of which more is used than of theirs.
    const used = (row: AuthenticationRow | AdmittedRow | undefined) => row?.used_percent;
    const step = 100 / (teamId === 'team_a' ? 50 : 100);
    const percents = [0, 1, 2].map((more) => (used(first) ?? 0) + more * step);
    expect([first, second, third].map(used)).toEqual(percents);
    expect(second).toMatchObject({
      ...facts,
      bucket_remaining: left - 1,
      used_percent: percents[1],
    });
    expect(third).toMatchObject({
      ...first,
      bucket_remaining: left - 2,
      used_percent: percents[2],
    });
  });

  test.each([
    ['an unknown prefix', () => ({ ...knownOf('full'), keyPrefix: 'svck_live_unknown1' })],
    ['another secret', () => ({ ...knownOf('full'), proof: knownOf('few').proof })],
    ['another team', () => ({ ...knownOf('full'), teamId: 'team_b' })],
    ['another address', () => knownOf('local', 'team_a', '11.0.0.1')],
    ['no address', () => knownOf('local', 'team_a', null)],
  ])('returns no row for %s, and counts nothing', async (_what, request) => {
    await alone(knownOf('full'));
    await alone(knownOf('local'));
    const before = await counts(api);
    expect(await batched(request())).toEqual([]);
    expect(await counts(api)).toEqual(before);
  });

  test.each([
    ['revoked', `revoked_at = '2026-11-02T09:00:20Z'`, true],
    ['revoked later', `revoked_at = '2026-11-02T09:00:20.001Z'`, false],
    ['expired', `expires_at = '2026-11-02T09:00:20Z'`, true],
    ['expired later', `expires_at = '2026-11-02T09:00:20.001Z'`, false],
  ])('asks for a key again that is %s: %s', async (_what, change, isRefused) => {
    await alone(knownOf('full'));
    await api.db.pool.query(`update api_key set ${change} where team_id = 'team_a'`);
    const rows = await batched(knownOf('full'));
    expect(rows).toHaveLength(isRefused ? 0 : 1);
    expect((await alone(knownOf('full'))).key_id === null).toBe(isRefused);
    await api.db.pool.query(`update api_key set revoked_at = null, expires_at = null`);
  });

  describe.each(['%', 'keys', 'key:%'])('with a counter of another minute: %s', (bucket) => {
    const setMinute = (change: number) =>
      api.db.pool.query('update team_counter set minute = $1 where bucket like $2', [
        Math.floor(NOW.getTime() / 60_000) + change,
        bucket,
      ]);

    beforeEach(async () => {
      await alone(knownOf('full'));
    });
    afterEach(async () => {
      await setMinute(0);
      await api.db.pool.query('update team_counter set count = 0');
    });

    test('a later one: returns no row, and counts nothing', async () => {
      await setMinute(1);
      const before = await counts(api);
      expect(await batched(knownOf('full'))).toEqual([]);
      expect(await counts(api)).toEqual(before);
      await setMinute(0);
      expect(await batched(knownOf('full'))).toHaveLength(1);
    });

    test.each([alone, async (key: KnownRequest) => (await batched(key))[0]])(
      'an earlier one: it begins again, even if it was full (%#)',
      async (ask) => {
        const key = knownOf('full');
        await api.db.pool.query(
          'update team_counter set count = case when bucket like $1 then 1000 else 7 end',
          [bucket],
        );
        await setMinute(-1);
        const row = await ask(key);
        const { rows } = await api.db.pool.query<{ of_key: number; of_keys: number }>(
          `select of_key.count as of_key, of_keys.count as of_keys
           from team_counter of_key
           join team_counter of_keys using (team_id, minute)
           where team_id = 'team_a' and of_key.bucket = $1 and of_keys.bucket = 'keys'`,
          [`key:${key.keyPrefix}`],
        );
        expect(rows).toEqual([
          { of_key: bucket === 'keys' ? 8 : 1, of_keys: bucket === 'key:%' ? 8 : 1 },
        ]);
        const left = 50 - (rows[0]?.of_keys ?? 0);
        expect(row).toMatchObject({ counted: true, bucket_limit: 50, bucket_remaining: left });
      },
    );

    test('an earlier one: counts all calls of a key, or none', async () => {
      await api.db.pool.query('update team_counter set count = 0');
      await setMinute(-1);
      const ask = (calls: number) =>
        authenticateBatch(api.db, terms, [{ ...knownOf('full'), calls }]);
      const before = await counts(api);
      expect(await ask(51)).toEqual([]);
      expect(await counts(api)).toEqual(before);
      expect(await ask(50)).toMatchObject([{ bucket_limit: 50, bucket_remaining: 0 }]);
      expect(await ask(1)).toEqual([]);
    });
  });

  test('keeps to the rows of the team, whatever others are called', async () => {
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at, invited_at)
       select 'team_b', created_by, 'twin@b.test', 'member', 'invited', now(), now()
       from api_key
       where team_id = 'team_a' and name = 'full'`,
    );
    await api.db.pool.query(
      `insert into team_counter
       select 'team_b', bucket, minute, 0
       from team_counter
       where team_id = 'team_a' and bucket like 'key:%'`,
    );
    expect(await batched(knownOf('full'))).toMatchObject([
      { team_id: 'team_a', creator_role: 'owner' },
    ]);
    const { rows } = await api.db.pool.query(
      `delete from team_counter
       where team_id = 'team_b'
         and substr(bucket, 5) in (select prefix from api_key where team_id = 'team_a')
       returning count`,
    );
    expect(new Set(rows.map(({ count }: { count: number }) => count))).toEqual(new Set([0]));
  });

  test('counts all calls of a key, or none', async () => {
    await api.db.pool.query(`update team_counter set count = 0`);
    const ask = (calls: number) =>
      authenticateBatch(api.db, terms, [
        { ...knownOf('full'), calls },
        { ...knownOf('full', 'team_b'), calls: 1 },
      ]);
    await alone(knownOf('full', 'team_b'));
    expect(await ask(51)).toMatchObject([{ team_id: 'team_b' }]);
    const [of] = (await ask(49)).filter(({ team_id }) => team_id === 'team_a');
    expect(of).toMatchObject({ bucket_limit: 50, bucket_remaining: 1 });
    expect(await ask(2)).toMatchObject([{ team_id: 'team_b' }]);
    expect(await ask(1)).toHaveLength(2);
    expect(await ask(1)).toMatchObject([{ team_id: 'team_b' }]);
    expect((await alone(knownOf('full'))).counted).toBe(false);
  });

  test.each([
    ['in a minute', 0],
    ['at the beginning of one', -1],
  ])('counts exactly beside itself and beside requests alone, %s', async (_when, change) => {
    await api.db.pool.query(`update team_counter set count = 0`);
    await alone(knownOf('full'));
    await alone(knownOf('few'));
    await api.db.pool.query('update team_counter set minute = minute + $1', [change]);
    await api.db.pool.query(`update team set rate_limit_per_min = 90 where id = 'team_a'`);
    const other = waitToConnect(
      openDatabase({ url: api.databaseUrl, poolMax: 16, onError: () => undefined }),
    );
    onTestFinished(async () => {
      await other.close();
      await api.db.pool.query(`update team set rate_limit_per_min = 50 where id = 'team_a'`);
    });
    const admitted = await Promise.all(
      Array.from({ length: 120 }, async (_, n) => {
        const db = n % 2 === 0 ? api.db : other;
        const key = knownOf(n % 3 === 0 ? 'few' : 'full');
        if (n % 4 === 0)
          return (await authenticateRequest(db, { ...terms, ...key })).counted ? 1 : 0;
        return (await authenticateBatch(db, terms, [{ ...key, calls: 2 }])).length * 2;
      }),
    );
    const total = admitted.reduce<number>((sum, calls) => sum + calls, change === 0 ? 2 : 0);
    expect(total).toBeGreaterThan(30);
    expect(total).toBeLessThanOrEqual(90);
    const { rows } = await api.db.pool.query(
      `select sum(count) filter (where bucket like 'key:%')::int as keys,
         sum(count) filter (where bucket = 'keys')::int as team
       from team_counter
       where team_id = 'team_a'`,
    );
    expect(rows).toEqual([{ keys: total, team: total }]);
  });

  test.each(['key:%', 'keys'])('skips a team whose counter is locked: %s', async (bucket) => {
    await api.db.pool.query(`update team_counter set count = 0`);
    const before = await counts(api);
    const release = await holdLock(
      api,
      `select from team_counter where team_id = 'team_a' and bucket like '${bucket}' for update`,
    );
    const keys = [knownOf('full'), knownOf('full', 'team_b')];
    expect(await batched(...keys)).toMatchObject([{ team_id: 'team_b' }]);
    await release();
    expect(await counts(api)).toMatchObject({ 'team_a keys': before['team_a keys'] });
    await until(async () => (await batched(...keys)).length === 2);
  });
});

describe('what waits', () => {
  const limits = { keyPerMinute: 1000, personPerMinute: 1000, ipPerMinute: 1000 };

  /** The keys of an API, with each statement held until it is let go. Timers stand still. */
  async function startHeld() {
    const api = await startKnown();
    const clock = steppedClock(NOW);
    const nonce = randomBytes(16);
    const sent: { keys: string[]; calls: number[]; go: (error?: Error) => void }[] = [];
    const query: TestApi['db']['query'] = async (what, values) => {
      const gate = Promise.withResolvers<void>();
      const go = (error?: Error) => (error ? gate.reject(error) : gate.resolve());
      sent.push({ keys: values[0] as string[], calls: values[4] as number[], go });
      await gate.promise;
      return api.db.query(what, values);
    };
    const batches = createBatchedAuthentication({ query }, { nonce, limits, clock });
    const ask = (teamId: string, ip = '127.0.0.1') => {
      const { keyPrefix, proof } = readCredential(`Bearer ${api.key(teamId)}`, nonce);
      return batches.ask({ teamId, keyPrefix: keyPrefix ?? '', proof, ip });
    };
    return { ask, sent, clock };
  }

  test('goes at the end of the turn, and then when the statement before has ended', async () => {
    const { ask, sent } = await startHeld();
    const first = [ask('team_t0'), ask('team_t1'), ask('team_t0')];
    expect(sent).toEqual([]);
    await nextTurn();
    expect(sent).toMatchObject([{ keys: ['team_t0', 'team_t1'], calls: [2, 1] }]);
    const second = [ask('team_t2'), ask('team_t0')];
    await nextTurn();
    expect(sent).toHaveLength(1);
    sent[0]?.go();
    expect((await Promise.all(first)).map((row) => [row?.team_id, row?.bucket_remaining])).toEqual([
      ['team_t0', 998],
      ['team_t1', 998],
      ['team_t0', 997],
    ]);
    expect(sent).toMatchObject([{}, { keys: ['team_t2', 'team_t0'], calls: [1, 1] }]);
    sent[1]?.go();
    expect(await Promise.all(second)).toMatchObject([
      { team_id: 'team_t2' },
      { team_id: 'team_t0', bucket_remaining: 996 },
    ]);
  });

  test('goes after a moment if the statement before is silent', async () => {
    const { ask, sent, clock } = await startHeld();
    const silent = ask('team_t0');
    await until(async () => sent.length === 1);
    const next = ask('team_t1');
    await nextTurn();
    expect(sent).toHaveLength(1);
    clock.advance(50);
    await until(async () => sent.length === 2);
    const last = ask('team_t2');
    // The end of the first one lets nobody go: the second one has taken its place.
    sent[0]?.go();
    expect(await silent).toMatchObject({ team_id: 'team_t0' });
    await nextTurn();
    expect(sent).toHaveLength(2);
    sent[1]?.go();
    expect(await next).toMatchObject({ team_id: 'team_t1' });
    await until(async () => sent.length === 3);
    sent[2]?.go();
    expect(await last).toMatchObject({ team_id: 'team_t2' });
  });

  test('is asked for alone if its statement fails, and the next one is asked', async () => {
    const { ask, sent } = await startHeld();
    const failing = [ask('team_t0'), ask('team_t0'), ask('team_t1')];
    await until(async () => sent.length === 1);
    const next = ask('team_t0');
    sent[0]?.go(new Error('gone'));
    expect(await Promise.all(failing)).toEqual([null, null, null]);
    await until(async () => sent.length === 2);
    sent[1]?.go();
    expect(await next).toMatchObject({ team_id: 'team_t0' });
  });

  test('is asked for alone beside another key or address of its team', async () => {
    const { ask, sent } = await startHeld();
    const one = ask('team_t0');
    expect(await ask('team_t0', '127.0.0.2')).toBeNull();
    await until(async () => sent.length === 1);
    sent[0]?.go();
    expect(await one).toMatchObject({ team_id: 'team_t0' });
    expect(sent).toHaveLength(1);
  });

  test('is divided into statements of at most a hundred keys', async () => {
    const sizes: number[] = [];
    const query: TestApi['db']['query'] = async (_what, values) => {
      sizes.push((values[0] as string[]).length);
      return [];
    };
    const terms = { nonce: randomBytes(16), limits, clock: systemClock };
    const batches = createBatchedAuthentication({ query }, terms);
    const rows = await Promise.all(
      Array.from({ length: 250 }, (_, n) =>
        batches.ask({ teamId: `t${n}`, keyPrefix: 'p', proof: Buffer.alloc(32), ip: null }),
      ),
    );
    expect(rows).toEqual(rows.map(() => null));
    expect(sizes).toEqual([100, 100, 50]);
  });
});
