// The use of API keys: counted by each process in memory, added up in the database, and read over
// the real tRPC API.
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Db } from '../../src/db/client.ts';
import { unavailable } from '../../src/db/errors.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { startUsageCounter } from '../../src/features/usage/counter.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let app: ReturnType<typeof appAs>;
/** The clock stands still, so that no day ends in the middle of a test. */
const clock = fixedClock(new Date());
const keyIds: Record<string, string> = {};

const signIn = async (member: string) =>
  appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId('a', member), teamId: 'team_a' }, clock.now()),
  );

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a'), makeTeam('b')]), clock });
  app = await signIn('admin');
  const { rows } = await api.db.pool.query(`select team_id, name, id from api_key`);
  for (const { team_id, name, id } of rows) keyIds[`${team_id} ${name}`] = id;
});

const DAY_MS = 86_400_000;
const dayOf = (daysAgo: number): string =>
  new Date(clock.now().getTime() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const keyId = (team: string, name: string): string => keyIds[`team_${team} ${name}`] ?? '';
const nothing = { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 };
const ignore = () => undefined;

describe('the counter', () => {
  const countsOf = async (name: string) =>
    (
      await api.db.pool.query(
        `select day::text, count_2xx, count_4xx, count_429, count_5xx
         from api_key_usage
         where key_id = $1
         order by day`,
        [keyId('a', name)],
      )
    ).rows.map((row) => Object.values(row));

  // Only the counter gets the test's timers. The database connections keep the real ones.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    return () => vi.useRealTimers();
  });
  const FLUSH_MS = 10_000;
  const tick = () => vi.advanceTimersByTime(FLUSH_MS);

  /** A database that records its statements. The test can delay its answers or make them fail. */
  function watchedDb(answer: <T>(send: () => Promise<T>) => Promise<T> = (send) => send()) {
    const writes = { begun: 0, ended: 0 };
    const query: Db['query'] = async (what, values) => {
      if (!what.name.startsWith('usage.')) return api.db.query(what, values);
      writes.begun += 1;
      try {
        return await answer(() => api.db.query(what, values));
      } finally {
        writes.ended += 1;
      }
    };
    return { db: { ...api.db, query }, writes };
  }

  test('counts by UTC day and by class of status, with 429 as its own class', async () => {
    const at = fixedClock(new Date('2026-11-02T23:59:59.900Z'));
    const counter = startUsageCounter({ db: api.db, clock: at, onError: ignore });
    const id = keyId('a', 'none');
    for (const status of [200, 201, 202, 404, 422, 429, 500, 503])
      counter.count('team_a', id, status, 0);
    at.advance(200);
    counter.count('team_a', id, 200, 0);
    await counter.stop();
    expect(await countsOf('none')).toEqual([
      ['2026-11-02', 3, 2, 1, 2],
      ['2026-11-03', 1, 0, 0, 0],
    ]);
  });

  test('writes half as many after a write that took too long, and each count once', async () => {
    const at = fixedClock(new Date('2026-10-05T10:00:00Z'));
    const sizes: number[] = [];
    // The server ends what writes more than one row.
    const query: Db['query'] = async (what, values) => {
      // On Citus it is asked of a shard, and named so.
      if (!what.name.startsWith('usage.add')) return api.db.query(what, values);
      const size = (values[0] as unknown[]).length;
      sizes.push(size);
      const late = Object.assign(new Error('canceling statement'), { code: '57014' });
      return size > 1 ? Promise.reject(unavailable(late)) : api.db.query(what, values);
    };
    const faults: unknown[] = [];
    const onError = (error: unknown): void => void faults.push(error);
    const counter = startUsageCounter({ db: { ...api.db, query }, clock: at, onError });
    const names = ['none', 'full', 'cases:read', 'users:read', 'users:write'];
    for (const name of names) counter.count('team_a', keyId('a', name), 200, 0);
    for (const failures of [1, 2, 3]) {
      tick();
      await until(async () => faults.length === failures);
    }
    await counter.stop();
    expect(sizes).toEqual([5, 3, 2, 1, 1, 1, 1, 1]);
    const { rows } = await api.db.pool.query(
      `delete from api_key_usage where day = '2026-10-05' returning key_id, count_2xx`,
    );
    expect(rows.map(({ key_id }) => key_id)).toContain(keyId('a', 'users:write'));
    expect(rows.map(({ count_2xx }) => count_2xx)).toEqual([1, 1, 1, 1, 1]);
  });

  test('writes every ten seconds, if anything was counted', async () => {
    const at = fixedClock(new Date('2026-11-04T10:00:00Z'));
    const { db, writes } = watchedDb();
    const counter = startUsageCounter({ db, clock: at, onError: ignore });
    tick();
    expect(await countsOf('cases:read')).toEqual([]);
    counter.count('team_a', keyId('a', 'cases:read'), 200, 0);
    vi.advanceTimersByTime(FLUSH_MS - 1);
    expect(writes.begun).toBe(0);
    vi.advanceTimersByTime(1);
    await until(() => writes.ended === 1);
    expect(await countsOf('cases:read')).toEqual([['2026-11-04', 1, 0, 0, 0]]);
    tick();
    await counter.stop();
    expect(writes.begun).toBe(1);
  });

  test('adds to stored counts, also when many write at once', async () => {
    const at = fixedClock(new Date('2026-11-05T10:00:00Z'));
    const counters = Array.from({ length: 4 }, () =>
      startUsageCounter({ db: api.db, clock: at, onError: ignore }),
    );
    for (let n = 0; n < 50; n += 1) {
      for (const counter of counters) {
        for (const name of ['full', 'by_admin']) counter.count('team_a', keyId('a', name), 200, 0);
      }
      tick();
      // Wait for one round trip, in which only some of the writes end.
      await countsOf('full');
    }
    await Promise.all(counters.map((counter) => counter.stop()));
    for (const name of ['full', 'by_admin'])
      expect(await countsOf(name)).toEqual([['2026-11-05', 200, 0, 0, 0]]);
  });

  test('writes failed counts once, with the later ones, and leaves out deleted keys', async () => {
    const at = fixedClock(new Date('2026-11-06T10:00:00Z'));
    const errors: unknown[] = [];
    const counter = startUsageCounter({
      db: api.db,
      clock: at,
      onError: (error) => errors.push(error),
    });
    const count = (name: string, statuses: number[]) => {
      for (const status of statuses) counter.count('team_a', keyId('a', name), status, 0);
    };
    count('by_member', [200, 200, 404, 429, 500]);
    count('trainings:read', [503]);
    counter.count('team_a', 'key_gone', 200, 0);
    await api.db.pool.query('alter table api_key_usage rename to away');
    onTestFinished(async () => {
      await api.db.pool.query('alter table if exists away rename to api_key_usage');
    });
    for (const failures of [1, 2]) {
      tick();
      await until(() => errors.length === failures);
    }
    count('by_member', [400, 429, 429, 500, 200]);
    await api.db.pool.query('alter table away rename to api_key_usage');
    tick();
    await until(async () => (await countsOf('by_member')).length > 0);
    const [byMember, other] = [[['2026-11-06', 3, 2, 3, 2]], [['2026-11-06', 0, 0, 0, 1]]];
    expect([await countsOf('by_member'), await countsOf('trainings:read')]).toEqual([
      byMember,
      other,
    ]);
    tick();
    await counter.stop();
    expect([await countsOf('by_member'), await countsOf('trainings:read')]).toEqual([
      byMember,
      other,
    ]);
    expect(errors).toHaveLength(2);
  });

  test('stores when a key was last used: a failover empties the rate counters', async () => {
    const at = fixedClock(new Date('2040-11-08T10:00:30Z'));
    const id = keyId('a', 'cases:write');
    const lastUse = async () => {
      await api.db.pool.query('truncate team_counter');
      return (await app.admin.apiKeys.get.query({ key_id: id })).last_used_at;
    };
    const use = async (times: number) => {
      const counter = startUsageCounter({ db: api.db, clock: at, onError: ignore });
      for (let n = 0; n < times; n += 1) {
        counter.count('team_a', id, 200, 0);
        at.advance(60_000);
      }
      await counter.stop();
    };
    expect(await lastUse()).toBeNull();
    await use(2);
    expect(await lastUse()).toBe('2040-11-08T10:01:00.000Z');
    at.advance(-10 * 60_000);
    await use(1);
    expect(await lastUse()).toBe('2040-11-08T10:01:00.000Z');
    at.advance(DAY_MS);
    await use(1);
    expect(await lastUse()).toBe('2040-11-09T09:53:00.000Z');
  });

  test('stores the last use of a key also if the write of an earlier one has failed', async () => {
    const at = fixedClock(new Date('2041-03-01T10:00:30Z'));
    const id = keyId('a', 'assignments:read');
    const gate = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<void>();
    const { db, writes } = watchedDb(async (send) => {
      if (writes.begun > 1) return send();
      await gate.promise;
      throw new Error('the database went away');
    });
    const counter = startUsageCounter({ db, clock: at, onError: () => failed.resolve() });
    counter.count('team_a', id, 200, 0);
    tick();
    await until(() => writes.begun === 1);
    at.advance(60_000);
    counter.count('team_a', id, 200, 0);
    gate.resolve();
    await failed.promise;
    await counter.stop();
    const { last_used_at } = await app.admin.apiKeys.get.query({ key_id: id });
    expect(last_used_at).toBe('2041-03-01T10:01:00.000Z');
  });

  test.each(['succeeds', 'fails'])(
    'counts requests during a write that %s exactly once',
    async (how) => {
      const at = fixedClock(new Date('2026-11-07T10:00:00Z'));
      const name = how === 'fails' ? 'evaluations:read' : 'analytics:read';
      const errors: unknown[] = [];
      const gate = Promise.withResolvers<void>();
      const { db, writes } = watchedDb(async (send) => {
        if (how === 'fails' && writes.begun === 1) {
          await gate.promise;
          throw new Error('the database went away');
        }
        const rows = await send();
        await gate.promise;
        return rows;
      });
      const counter = startUsageCounter({ db, clock: at, onError: (error) => errors.push(error) });
      counter.count('team_a', keyId('a', name), 200, 0);
      tick();
      await until(() => writes.begun === 1);
      for (const status of [200, 404]) counter.count('team_a', keyId('a', name), status, 0);
      tick();
      counter.count('team_a', keyId('a', name), 500, 0);
      const stopped = counter.stop();
      gate.resolve();
      await stopped;
      expect(await countsOf(name)).toEqual([['2026-11-07', 2, 1, 0, 1]]);
      expect(errors).toHaveLength(how === 'fails' ? 1 : 0);
    },
  );
});

describe('the days', () => {
  beforeAll(async () => {
    await api.db.pool.query('delete from api_key_usage');
    for (const team of ['a', 'b'])
      await api.db.pool.query(
        `insert into api_key_usage (team_id, day, key_id, count_2xx)
         select k.team_id, $1::date - n, k.id, n + 1
         from api_key k, generate_series(0, 100) n
         where k.team_id = $2 and k.name in ('full', 'none')`,
        [dayOf(0), `team_${team}`],
      );
  });

  test('adds up the keys by day, the first day first', async () => {
    const { data } = await app.admin.usage.daily.query({});
    expect(data).toHaveLength(90);
    expect(data.slice(-2)).toEqual(
      [1, 0].map((n) => ({
        day: dayOf(n),
        requests: { ...nothing, '2xx': 2 * (n + 1) },
        peak_percent: 0,
      })),
    );
    const one = { key_id: keyId('a', 'full'), since: dayOf(3), until: dayOf(3) };
    expect((await app.admin.usage.daily.query(one)).data).toEqual([
      { day: dayOf(3), requests: { ...nothing, '2xx': 4 }, peak_percent: 0 },
    ]);
    const other = { key_id: keyId('b', 'full') };
    expect((await app.admin.usage.daily.query(other)).data).toEqual([]);
  });

  test('is for admins only', async () => {
    const member = await signIn('member');
    expect(await codeOf(member.admin.usage.daily.query({}))).toBe('forbidden');
  });

  test('loses days older than 90 in the hourly removal', async () => {
    const { usage } = await removeOld(api.db, clock);
    expect(usage).toBe(40);
  });
});

describe('the peak of a day', () => {
  test('is the largest share of a limit that was used, over all writes', async () => {
    const watched = startUsageCounter({
      db: api.db,
      clock,
      onError: (error) => expect.unreachable(String(error)),
    });
    const id = keyId('a', 'webhooks:manage');
    const peak = async () =>
      (await api.db.pool.query('select peak_percent from api_key_usage where key_id = $1', [id]))
        .rows;
    for (const used of [0.25, 0.804, 0.5]) watched.count('team_a', id, 200, used);
    await watched.stop();
    const next = startUsageCounter({ db: api.db, clock, onError: () => undefined });
    next.count('team_a', id, 200, 0.1);
    await next.stop();
    expect((await peak()).at(-1)).toEqual({ peak_percent: 80 });
  });

  test('counts the team of which more is used, although a key has less left', async () => {
    const used: number[] = [];
    const limited = await startTestApi({
      clock,
      keyLimitPerMinute: 4,
      seed: makeSeed([makeTeam('wide', { rate_limit_per_min: 10 })]),
      app: { countUse: (_team, _key, _status, share) => used.push(share) },
    });
    const shown: string[] = [];
    for (const name of ['full', 'users:read', 'by_admin'])
      for (let call = 0; call < 3; call += 1) {
        const { headers } = await limited.call(limited.key('team_wide', name), 'GET', '/me');
        shown.push(`${headers['ratelimit-remaining']} of ${headers['ratelimit-limit']}`);
      }
    expect(shown.slice(-3)).toEqual(['3 of 4', '2 of 4', '1 of 4']);
    expect(used.map((share) => Math.round(100 * share))).toEqual([
      25, 50, 75, 40, 50, 75, 70, 80, 90,
    ]);
  });

  test('counts the nearer one of the limits of the key and of the team', async () => {
    const used: number[] = [];
    const limited = await startTestApi({
      clock,
      keyLimitPerMinute: 4,
      seed: makeSeed([makeTeam('peak', { rate_limit_per_min: 5 })]),
      app: { countUse: (_team, _key, _status, share) => used.push(share) },
    });
    for (const key of ['full', 'full', 'users:read', 'full', 'users:read', 'full'])
      await limited.call(limited.key('team_peak', key), 'GET', '/me');
    expect(used.map((share) => Math.round(100 * share))).toEqual([25, 50, 60, 80, 100, 100]);
    const admin = { kind: 'user', userId: userId('peak', 'admin'), teamId: 'team_peak' } as const;
    const app = appAs(limited, await tokenOf(admin, clock.now()));
    expect(await app.admin.usage.limits.query({})).toEqual({
      plan: 'team',
      team_per_minute: 5,
      key_per_minute: 4,
    });
  });
});
