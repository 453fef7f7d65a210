// The request log: what processes write about the calls of keys, and who finds it.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { newRequestId } from '../../src/core/ids.ts';
import type { Db } from '../../src/db/client.ts';
import type { AnsweredCall } from '../../src/core/answered-call.ts';
import { isLockTimeout } from '../../src/db/errors.ts';
import { startRequestLog, type RequestLog } from '../../src/features/requests/log.ts';
import {
  expiredSlots,
  isLogged,
  slotOf,
  timeOfRequest,
} from '../../src/features/requests/rules.ts';
import { removeOldRequests } from '../../src/features/requests/service.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { startUsageCounter, type UsageCounter } from '../../src/features/usage/counter.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { beginToWait, holdLock, lockWhole } from '../support/locks.ts';
import { makeFullTeam, makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;

let api: TestApi;
let keyIds: Readonly<Record<string, string>>;
/** What gets the calls of the API. A test starts them, and stops them to have all written. */
let running: { readonly log: RequestLog; readonly usage?: UsageCounter } | null = null;
beforeAll(async () => {
  api = await startTestApi({
    trustProxy: { kind: 'hops', hops: 1 },
    app: {
      logRequest: (call) => running?.log.add(call),
      countUse: (...use) => running?.usage?.count(...use),
    },
    seed: makeSeed([makeFullTeam('a'), makeFullTeam('b'), makeTeam('c')]),
  });
  const { rows } = await api.db.pool.query(
    `select team_id || ' ' || name as name, id from api_key`,
  );
  keyIds = Object.fromEntries(rows.map(({ name, id }) => [name, id]));
});

const asAdmin = async (team: string) =>
  appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` }),
  );

const failWith = (error: unknown): never => expect.fail(String(error));

const log = (db: Db = api.db, onLeftOut: (count: number) => void = failWith, sample = 1) =>
  startRequestLog({
    db,
    sample,
    onError: () => undefined,
    onLeftOut,
    onRefused: (_call, error) => failWith(error),
  });

const answered = (fields: Partial<AnsweredCall> = {}): AnsweredCall => ({
  requestId: newRequestId(),
  teamId: 'team_a',
  keyId: keyIds['team_a full'] ?? '',
  method: 'GET',
  route: '/users',
  status: 200,
  durationMs: 3.4,
  ip: '203.0.113.77',
  problem: null,
  limit: null,
  declared: new Set(),
  ignored: [],
  ...fields,
});

/** Adds a call of `full` of team A, and returns its id. */
async function insertAt(at: Date, route: string): Promise<string> {
  const hex = at.getTime().toString(16).padStart(12, '0');
  const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
  await api.db.pool.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
     values ('team_a', $1, $2, $3, $4, 'GET', $5, 200, 1)`,
    [slotOf(at), id, at, keyIds['team_a full'], route],
  );
  return id;
}

describe('the API', () => {
  test('logs calls by route and code, and no value of them', async () => {
    running = { log: log() };
    const { call } = api;
    const key = api.key('team_a');
    const secret = 'someone@private.test';
    const ids = async (): Promise<string[]> => {
      const sent = [
        await call(key, 'GET', '/users?limit=1'),
        await call(key, 'POST', '/users', { body: { email: 5, role: 7, [secret]: secret } }),
        await call(key, 'GET', '/assignments/asg_nobody_knows'),
        await call(key, 'GET', `/users/${secret}`),
        await call(key, 'GET', '/user'),
        await call(key, 'DELETE', '/users'),
        await call(key, 'GET', `/trainings?sicne=2026-11-01T00:00:00Z&${secret}=1&private=2`),
        await call(key, 'GET', `/users?limit=0&limti=1`),
      ];
      return sent.map(({ headers }) => String(headers['x-request-id']));
    };
    const [list = '', refused = '', unknown = '', elsewhere = '', ...mistyped] = await ids();
    await running.log.stop();
    const whenLogged = async (id: string) => {
      const { status, body } = await call(key, 'GET', `/requests/${id}`);
      expect(status).toBe(200);
      return body;
    };
    const found = await whenLogged(elsewhere);
    expect(found).toMatchObject({ route: '/users/{member_id}', status: 404 });
    const logged = await Promise.all(mistyped.map(whenLogged));
    expect(logged).toMatchObject([
      { id: mistyped[0], method: 'GET', status: 404, error_code: 'not_found' },
      { id: mistyped[1], method: 'DELETE', status: 405, error_code: 'bad_request' },
      {
        status: 200,
        error_code: null,
        errors: [
          { path: 'query.sicne', code: 'ignored' },
          { path: 'query', code: 'ignored' },
        ],
      },
      {
        status: 422,
        errors: [
          { path: 'query.limit', code: 'too_small' },
          { path: 'query.limti', code: 'ignored' },
        ],
      },
    ]);
    expect((await call(key, 'GET', `/requests/${list}`)).body).toEqual({
      id: list,
      created_at: timeOfRequest(list)?.toISOString(),
      key_id: keyIds['team_a full'],
      method: 'GET',
      route: '/users',
      status: 200,
      duration_ms: expect.any(Number),
      network: '127.0.0.0/24',
      error_code: null,
      errors: null,
    });
    expect((await call(key, 'GET', `/requests/${refused}`)).body).toMatchObject({
      route: '/users',
      status: 422,
      error_code: 'validation_error',
      errors: [
        { path: 'body.email', code: 'invalid_type' },
        { path: 'body.role', code: 'invalid_type' },
        { path: 'body', code: 'unrecognized_keys' },
      ],
    });
    expect((await call(key, 'GET', `/requests/${unknown}`)).body).toMatchObject({
      route: '/assignments/{assignment_id}',
      error_code: 'not_found',
    });
    const { rows } = await api.db.pool.query('select t::text as row from request_log t');
    expect(rows).toHaveLength(8);
    for (const { row } of rows) expect(row).not.toMatch(/private|nobody_knows|127\.0\.0\.1/);
  });

  test.each([
    ['203.0.113.77:51234', '203.0.113.0/24'],
    ['"[2001:db8:1:2::3]:443"', '2001:db8:1::/48'],
    ['::ffff:203.0.113.77', '203.0.113.0/24'],
    ['unknown', null],
  ])('logs the network of a client whose proxy sends %s: %s', async (sent, network) => {
    running = { log: log() };
    const key = api.key('team_a');
    const headers = { 'x-forwarded-for': sent };
    const id = (await api.call(key, 'GET', '/me', { headers })).headers['x-request-id'];
    await running.log.stop();
    expect((await api.call(key, 'GET', `/requests/${id}`)).body).toMatchObject({ id, network });
  });

  test('logs on after names that no database can store', async () => {
    running = { log: log() };
    const { call } = api;
    const names = { 'emai\u0000l': 'x', 'emai\uD800l': 'x' };
    const sent = [
      await call(api.key('team_a'), 'GET', '/users?lim%00it=5'),
      await call(api.key('team_a'), 'POST', '/users', {
        body: { email: 'x@example.com', ...names },
      }),
      await call(api.key('team_a'), 'GET', '/me'),
    ];
    await running.log.stop();
    const { rows } = await api.db.pool.query(
      `select status, errors
       from request_log
       where id = any ($1)
       order by id`,
      [sent.map(({ headers }) => headers['x-request-id'])],
    );
    expect(rows).toMatchObject([
      { status: 200, errors: [{ path: 'query', code: 'ignored' }] },
      { status: 422 },
      { status: 200, errors: null },
    ]);
  });
});

describe('the log', () => {
  test('drops a call that the database refuses, and writes those beside it', async () => {
    const dropped: unknown[] = [];
    const running = startRequestLog({
      db: api.db,
      onError: failWith,
      onLeftOut: failWith,
      onRefused: ({ requestId }, error) =>
        dropped.push([(error as { code?: unknown }).code, requestId]),
    });
    const calls = Array.from({ length: 5 }, (_, place) =>
      answered({ route: place % 3 === 1 ? '/refused\u0000' : '/beside-refused' }),
    );
    for (const each of calls) running.add(each);
    await running.stop();
    expect(dropped).toEqual([
      ['22P05', calls[1]?.requestId],
      ['22P05', calls[4]?.requestId],
    ]);
    const { rows } = await api.db.pool.query(
      `select id from request_log where route = '/beside-refused'`,
    );
    expect(rows).toHaveLength(3);
  });

  test('shows a key its own calls only, and an admin all of the team', async () => {
    const running = log();
    const [own, others, foreign] = [
      answered(),
      answered({ keyId: keyIds['team_a users:read'] ?? '' }),
      answered({ teamId: 'team_b', keyId: keyIds['team_b full'] ?? '' }),
    ];
    for (const each of [own, others, foreign]) running.add(each);
    await running.stop();
    const get = async ({ requestId }: AnsweredCall, key = api.key('team_a')) =>
      (await api.call(key, 'GET', `/requests/${requestId}`)).status;
    expect(await get(own)).toBe(200);
    expect(await get(others)).toBe(404);
    expect(await get(foreign)).toBe(404);
    expect(await get(foreign, api.key('team_b'))).toBe(200);
    expect((await api.call(api.key('team_a'), 'GET', '/requests/x')).status).toBe(404);
    const app = await asAdmin('a');
    expect((await app.v1.requests.get.query({ request_id: others.requestId })).status).toBe(200);
    const find = (request_id: string) => codeOf(app.admin.requests.get.query({ request_id }));
    expect([await find(others.requestId), await find(foreign.requestId)]).toEqual([
      'ok',
      'not_found',
    ]);
    const seen = (await app.admin.requests.list.query({ limit: 200 })).data.map(({ id }) => id);
    expect(seen).toEqual(expect.arrayContaining([own.requestId, others.requestId]));
    expect(seen).not.toContain(foreign.requestId);
  });

  test('explains an error to an admin, unless this release does not know it', async () => {
    const running = log();
    const codes = ['conflict', 'of_another_release', 'toString', null];
    const calls = codes.map((code) => answered({ problem: code === null ? null : { code } }));
    for (const each of calls) running.add(each);
    await running.stop();
    const app = await asAdmin('a');
    const found = await Promise.all(
      calls.map(({ requestId }) => app.admin.requests.get.query({ request_id: requestId })),
    );
    expect(found.map(({ error_code, help }) => [error_code, help?.title.en])).toEqual([
      ['conflict', 'Conflict'],
      ['of_another_release', undefined],
      ['toString', undefined],
      [null, undefined],
    ]);
    expect(found[0]?.help?.remedy.de).toMatch(/\w/);
  });

  test('is searched by request, key, route, status and error code, page by page', async () => {
    const running = log();
    const problem = { code: 'conflict' };
    const calls = Array.from({ length: 6 }, (_, index) =>
      answered({
        teamId: 'team_c',
        route: index % 2 === 0 ? '/crm/deals' : '/catalog',
        status: index % 3 === 0 ? 409 : 201,
        problem: index % 3 === 0 ? problem : null,
        keyId: `key_${index % 2}`,
      }),
    );
    for (const each of calls) running.add(each);
    await running.stop();
    const app = await asAdmin('c');
    const idsOf = (...indexes: number[]) =>
      indexes.map((index) => calls[index]?.requestId ?? '').toSorted();
    const find = async (filter: object) =>
      (await app.admin.requests.list.query(filter)).data.map(({ id }) => id);
    expect(await find({ request_id: calls[1]?.requestId })).toEqual(idsOf(1));
    expect((await find({ key_id: 'key_1' })).toSorted()).toEqual(idsOf(1, 3, 5));
    expect((await find({ route: '/crm/deals' })).toSorted()).toEqual(idsOf(0, 2, 4));
    expect((await find({ status: 409 })).toSorted()).toEqual(idsOf(0, 3));
    expect(await find({ error_code: 'conflict', key_id: 'key_1' })).toEqual(idsOf(3));
    expect((await find({ status_class: '4xx' })).toSorted()).toEqual(idsOf(0, 3));
    expect((await find({ status_class: 'errors' })).toSorted()).toEqual(idsOf(0, 3));
    expect((await find({ status_class: '2xx' })).toSorted()).toEqual(idsOf(1, 2, 4, 5));
    expect(await find({ status_class: '5xx' })).toEqual([]);
    const first = await app.admin.requests.list.query({ status: 201, limit: 3 });
    const cursor = first.next_cursor ?? '';
    const rest = await app.admin.requests.list.query({ status: 201, limit: 3, cursor });
    const paged = [...first.data, ...rest.data].map(({ id }) => id);
    expect(paged.toSorted()).toEqual(idsOf(1, 2, 4, 5));
  });

  test('is searched by time, from any time zone, but not before what is shown', async () => {
    const route = '/by-time';
    const now = Date.now();
    const at = (daysAgo: number) => new Date(now - daysAgo * DAY_MS);
    const ids = [await insertAt(at(1), route), await insertAt(at(3), route)];
    const hidden = await insertAt(at(7.01), route);
    const app = await asAdmin('a');
    const find = async (range: object) =>
      (await app.admin.requests.list.query({ route, ...range })).data.map(({ id }) => id);
    const inZone = (daysAgo: number) =>
      new Date(at(daysAgo).getTime() + 3_600_000).toISOString().replace('Z', '+01:00');
    expect(await find({})).toEqual(ids);
    expect(await find({ since: inZone(1) })).toEqual(ids.slice(0, 1));
    expect(await find({ until: inZone(1) })).toEqual(ids.slice(1));
    expect(await find({ since: at(2.9).toISOString() })).toEqual(ids.slice(0, 1));
    expect(await find({ since: at(30).toISOString() })).not.toContain(hidden);
    expect(await find({ since: at(2).toISOString(), until: at(2).toISOString() })).toEqual([]);
  });

  test('loses seven days ago, at once, and nothing newer', async () => {
    const now = new Date();
    const insert = (daysAgo: number) => insertAt(new Date(now.getTime() - daysAgo * DAY_MS), '/me');
    const [expired, hidden, kept] = [await insert(8), await insert(7.01), await insert(6.9)];
    const get = async (id: string) =>
      (await api.call(api.key('team_a'), 'GET', `/requests/${id}`)).status;
    expect([await get(expired), await get(hidden), await get(kept)]).toEqual([404, 404, 200]);
    await removeOld(api.db, { ...systemClock, now: () => now, override: () => now });
    const { rows } = await api.db.pool.query('select id from request_log');
    const left = rows.map(({ id }) => id);
    expect(left).not.toContain(expired);
    expect(left).toContain(kept);
  });
});

test('with fewer days, those that are not kept go, and no others', async () => {
  const now = new Date();
  const insert = (daysAgo: number) => insertAt(new Date(now.getTime() - daysAgo * DAY_MS), '/few');
  const kept = await insert(2);
  for (const daysAgo of [3, 5]) await insert(daysAgo);
  const clock = { ...systemClock, now: () => now, override: () => now };
  await removeOld(api.db, clock, { requestLogDays: 2 });
  const { rows } = await api.db.pool.query(`select id from request_log where route = '/few'`);
  expect(rows).toEqual([{ id: kept }]);
  expect(new Set(expiredSlots(now, 1)).size).toBe(8);
  expect(expiredSlots(now, 1)).not.toContain(slotOf(new Date(now.getTime() - DAY_MS)));
  expect(expiredSlots(now, 1)).not.toContain(slotOf(now));
});

describe('a sample of the calls', () => {
  test('has every error and the share of the others, whichever process decides', async () => {
    const calls = Array.from({ length: 4_000 }, () => answered({ route: '/sampled' }));
    const errors = [404, 429, 503].map((status) => answered({ route: '/sampled', status }));
    const running = startRequestLog({
      db: api.db,
      sample: 0.25,
      onError: failWith,
      onLeftOut: failWith,
      onRefused: (_call, error) => failWith(error),
    });
    for (const each of [...calls, ...errors]) running.add(each);
    await running.stop();
    const { rows } = await api.db.pool.query<{ id: string; status: number }>(
      `select id, status from request_log where route = '/sampled'`,
    );
    const fine = rows.filter(({ status }) => status < 400);
    expect(rows.length - fine.length).toBe(3);
    // Five times the deviation of chance.
    expect(Math.abs(fine.length - 1_000)).toBeLessThan(140);
    expect(fine.map(({ id }) => id).toSorted()).toEqual(
      calls
        .filter((call) => isLogged(call, 0.25))
        .map(({ requestId }) => requestId)
        .toSorted(),
    );
  });

  const usageOf = async (): Promise<{ fine: number; refused: number }> => {
    const { rows } = await api.db.pool.query(
      `select coalesce(sum(count_2xx), 0)::int as fine,
         coalesce(sum(count_4xx), 0)::int as refused
       from api_key_usage
       where team_id = 'team_c'`,
    );
    return rows[0];
  };

  test('changes no figure that customers see', async () => {
    const usage = startUsageCounter({ db: api.db, clock: systemClock, onError: failWith });
    running = { log: log(api.db, failWith, 0), usage };
    const { call } = api;
    const since = new Date();
    const before = await usageOf();
    const statuses = [];
    for (const path of ['/me', '/me', '/me', '/trainings/none'])
      statuses.push((await call(api.key('team_c'), 'GET', path)).status);
    expect(statuses).toEqual([200, 200, 200, 404]);
    await Promise.all([running.log.stop(), usage.stop()]);
    const logged = await api.db.pool.query(
      `select status from request_log where team_id = 'team_c' and created_at >= $1`,
      [since],
    );
    expect(logged.rows).toEqual([{ status: 404 }]);
    const after = await usageOf();
    expect({ fine: after.fine - before.fine, refused: after.refused - before.refused }).toEqual({
      fine: 3,
      refused: 1,
    });
  });
});

test('a day that somebody reads is emptied later, and nobody else waits for that', async () => {
  // Ten days take their partitions in turn. These are not where today's calls are.
  const at = new Date(Date.now() - 15 * DAY_MS);
  const days = (n: number): Date => new Date(at.getTime() + n * DAY_MS);
  await insertAt(at, '/read');
  const third = await insertAt(days(1), '/third');
  const release = await holdLock(api, `select from request_log where slot = ${slotOf(at)}`);
  const emptying = await beginToWait(api, () => removeOldRequests(api.db, days(8)), '%truncate%');
  // They ask for the same day, behind the one who waits to empty it.
  const read = (): Promise<{ rowCount: number | null }> =>
    api.db.pool.query(`select id from request_log where slot = $1`, [slotOf(at)]);
  expect((await read()).rowCount).toBe(1);
  // It has given up by its own limit, which is short, not by that of every statement.
  await emptying.outcome;
  expect((await read()).rowCount).toBe(1);
  await release();
  await removeOldRequests(api.db, days(8));
  const { rows } = await api.db.pool.query(`select id, route from request_log where key_id = $1`, [
    keyIds['team_a full'],
  ]);
  expect(rows.map(({ route }) => route)).not.toContain('/read');
  expect(rows.map(({ id }) => id)).toContain(third);
});

test('whoever reads all days for longer than one is told of', async () => {
  const at = new Date(Date.now() - 15 * DAY_MS);
  const days = (n: number): Date => new Date(at.getTime() + n * DAY_MS);
  await insertAt(at, '/first');
  await insertAt(days(1), '/second');
  const release = await holdLock(api, 'select from request_log');
  await removeOldRequests(api.db, days(8));
  // A day must be empty when it comes again, which is soon.
  const late = removeOldRequests(api.db, days(9)).catch((error: unknown) => error);
  expect(isLockTimeout(await late)).toBe(true);
  await release();
  await removeOldRequests(api.db, days(9));
  const { rows } = await api.db.pool.query(
    `select route from request_log where route in ('/first', '/second')`,
  );
  expect(rows).toEqual([]);
});

describe('while the log cannot be written', () => {
  test('calls are kept up to a limit, and written afterwards', async () => {
    const leftOut: number[] = [];
    const release = await holdLock(api, lockWhole('request_log'));
    onTestFinished(release);
    const running = log(api.db, (count) => leftOut.push(count));
    const calls = Array.from({ length: 10_005 }, () => answered({ route: '/waited' }));
    for (const each of calls) running.add(each);
    await until(() => leftOut.length > 0);
    expect(leftOut).toEqual([5]);
    await release();
    await running.stop();
    const { rows } = await api.db.pool.query(
      `select count(*)::int as count from request_log where route = '/waited'`,
    );
    expect(rows).toEqual([{ count: 10_000 }]);
  });

  test('calls that had no room are told although every write succeeds', async () => {
    const { promise: isWritten, resolve } = Promise.withResolvers<void>();
    const slow = { ...api.db, query: async () => isWritten.then(() => []) } as unknown as Db;
    const leftOut: number[] = [];
    const running = log(slow, (count) => leftOut.push(count));
    for (let count = 0; count < 10_005; count += 1) running.add(answered());
    resolve();
    await running.stop();
    expect(leftOut).toEqual([5]);
  });
});
