// The use of API keys: counted by each process in memory, added up in the database, read over the real door.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Db } from '../../src/db/client.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { startUsageCounter } from '../../src/features/usage/counter.ts';
import { createCall, startApiProcess, startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { until } from '../support/deliveries.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
let app: Awaited<ReturnType<typeof appAsMember>>;
const keyIds: Record<string, string> = {};

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a'), makeTeam('b')]) });
  app = await appAsMember(api, 'a', 'admin');
  const { rows } = await api.db.pool.query(`select team_id, name, id from api_key`);
  for (const { team_id, name, id } of rows) keyIds[`${team_id} ${name}`] = id;
});

const DAY_MS = 86_400_000;
const dayOf = (daysAgo: number): string => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
const keyId = (team: string, name: string): string => keyIds[`team_${team} ${name}`] ?? '';
const usageOf = async (name: string) =>
  (await app.admin.usage.list.query({ key_id: keyId('a', name) })).data.map(({ day, requests }) => ({
    day,
    ...requests,
  }));
const nothing = { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 };
const ignore = () => undefined;

describe('two API processes', () => {
  test('count together what either answered; a kill costs only what was not written yet', async () => {
    const env = { API_KEY_RATE_LIMIT_PER_MIN: '12' };
    const [one, two] = await Promise.all([
      startApiProcess(api.databaseUrl, env),
      startApiProcess(api.databaseUrl, env),
    ]);
    const key = api.key('team_a', 'users:read');
    const answered: Record<string, number> = { ...nothing };
    const send = async (process: { url: string }, path: string): Promise<void> => {
      const { status } = await createCall(process.url)(key, 'GET', path);
      const name = status === 429 ? '429' : `${String(status)[0]}xx`;
      answered[name] = (answered[name] ?? 0) + 1;
    };
    for (const process of [one, two]) {
      for (let n = 0; n < 4; n += 1) await send(process, '/users');
      await send(process, '/cases');
      await send(process, '/users/mem_nobody');
      await send(process, '/users?limit=0');
    }
    expect(answered).toMatchObject({ '2xx': expect.any(Number), '4xx': expect.any(Number), '429': expect.any(Number) });
    // Nobody's: it is no use of a key.
    await createCall(one.url)('svck_live_wrong_key', 'GET', '/users');

    await two.kill('SIGTERM');
    const written = async () => {
      const [today] = await usageOf('users:read');
      return today && Object.values(today).reduce<number>((sum, value) => sum + (Number(value) || 0), 0) >= 14;
    };
    await until(written);
    await createCall(one.url)(key, 'GET', '/users');
    await one.kill('SIGKILL');
    expect(await usageOf('users:read')).toEqual([{ day: dayOf(0), ...answered }]);
  });
});

describe('the counter', () => {
  const countsOf = async (name: string) =>
    (
      await api.db.pool.query(
        `select day::text, count_2xx, count_4xx, count_429, count_5xx from api_key_usage where key_id = $1 order by day`,
        [keyId('a', name)],
      )
    ).rows.map((row) => Object.values(row));

  test('tells days apart by UTC, and classes by status, 429 on its own', async () => {
    const clock = fixedClock(new Date('2026-11-02T23:59:59.900Z'));
    const counter = startUsageCounter({ db: api.db, clock, onError: ignore });
    const id = keyId('a', 'none');
    for (const status of [200, 201, 202, 404, 422, 429, 500, 503]) counter.count('team_a', id, status);
    clock.advance(200);
    counter.count('team_a', id, 200);
    await counter.stop();
    expect(await countsOf('none')).toEqual([
      ['2026-11-02', 3, 2, 1, 2],
      ['2026-11-03', 1, 0, 0, 0],
    ]);
  });

  test('writes by itself, adds to what is there, and many at once', async () => {
    const clock = fixedClock(new Date('2026-11-05T10:00:00Z'));
    const counters = Array.from({ length: 4 }, () =>
      startUsageCounter({ db: api.db, clock, onError: ignore, flushEveryMs: 5 }),
    );
    for (let n = 0; n < 50; n += 1) {
      for (const counter of counters) {
        for (const name of ['full', 'by_admin']) counter.count('team_a', keyId('a', name), 200);
      }
      await new Promise((done) => setTimeout(done, 2));
    }
    await until(async () => (await countsOf('full'))[0]?.[1] === 200);
    await Promise.all(counters.map((counter) => counter.stop()));
    expect(await countsOf('by_admin')).toEqual([['2026-11-05', 200, 0, 0, 0]]);
  });

  test('keeps what could not be written, and leaves out keys that are gone', async () => {
    const clock = fixedClock(new Date('2026-11-06T10:00:00Z'));
    let fails = true;
    const errors: unknown[] = [];
    const query: Db['query'] = (what, values) =>
      fails ? Promise.reject(new Error('away')) : api.db.query(what, values);
    const counter = startUsageCounter({
      db: { ...api.db, query },
      clock,
      onError: (error) => errors.push(error),
      flushEveryMs: 5,
    });
    counter.count('team_a', keyId('a', 'by_member'), 200);
    counter.count('team_a', 'key_gone', 200);
    await until(() => errors.length >= 2);
    counter.count('team_a', keyId('a', 'by_member'), 400);
    fails = false;
    await counter.stop();
    expect(await countsOf('by_member')).toEqual([['2026-11-06', 1, 1, 0, 0]]);
  });
});

describe('the list', () => {
  beforeAll(async () => {
    await api.db.pool.query('delete from api_key_usage');
    for (const team of ['a', 'b'])
      await api.db.pool.query(
        `insert into api_key_usage (team_id, day, key_id, count_2xx) select k.team_id, $1::date - n, k.id, n + 1 from api_key k, generate_series(0, 100) n
         where k.team_id = $2 and k.name in ('full', 'none')`,
        [dayOf(0), `team_${team}`],
      );
  });

  test("has a row for each of the team's keys and day of the last 90, the last day first, page by page", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await app.admin.usage.list.query({ limit: 37, cursor });
      seen.push(...page.data.map((row) => `${row.day} ${row.key_id}`));
      expect(page.data.every((row) => ['full', 'none'].includes(row.key_name))).toBe(true);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    const both = [keyId('a', 'full'), keyId('a', 'none')].toSorted().toReversed();
    expect(seen).toEqual(Array.from({ length: 90 }, (_, n) => both.map((id) => `${dayOf(n)} ${id}`)).flat());
  });

  test('filters by key and days', async () => {
    const { data } = await app.admin.usage.list.query({ key_id: keyId('a', 'full'), since: dayOf(3), until: dayOf(2) });
    expect(data).toEqual(
      [2, 3].map((n) => ({
        day: dayOf(n),
        key_id: keyId('a', 'full'),
        key_name: 'full',
        requests: { ...nothing, '2xx': n + 1 },
      })),
    );
    expect((await app.admin.usage.list.query({ key_id: keyId('b', 'full') })).data).toEqual([]);
  });

  test('is for admins only', async () => {
    const member = await appAsMember(api, 'a', 'member');
    expect(await codeOf(member.admin.usage.list.query({}))).toBe('forbidden');
  });

  test('loses what is older than 90 days with the hourly removal', async () => {
    const { usage } = await removeOld(api.db, { now: () => new Date(), override: () => null });
    expect(usage).toBe(40);
  });
});
