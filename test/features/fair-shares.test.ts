// What a caller hears when the team asks for more than its share of the database, and what becomes
// of the work of callers who hang up.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { openConnection, requestBytes } from '../contract/raw-http.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { appAsPlatform, codeOf, tokenOf } from '../support/app.ts';
import { countWaiting, holdLock, untilNoneWaits, untilWaiting } from '../support/locks.ts';
import { until } from '../support/until.ts';
import { makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

let api: TestApi;
const logged: { readonly msg: string; readonly status?: number }[] = [];
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a'), makeTeam('b')]),
    connections: 256,
    onLog: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]),
  });
});

/** A team's share of the transactions, and what may wait for it. */
const SHARE = 4;
const LINE = 100;
/** All of them wait for less than the time that a caller may wait. */
const CALLS = SHARE + LINE + 16;

/** Each change of a role locks the team's row. Requests that are counted meanwhile do not wait. */
const LOCK_TEAM = `select from team where id = 'team_a' for no key update`;
const setRole = (team: string, role: string, key = 'full'): Promise<ApiResponse> =>
  api.call(api.key(`team_${team}`, key), 'PATCH', `/users/${memberId(team, 'member')}`, {
    body: { role },
  });
/** The keys of a team that may do it share what the team has. */
const KEYS = ['full', 'users:write'];
const readRole = async (team: string): Promise<string> =>
  (
    await api.db.pool.query('select role from member where team_id = $1 and id = $2', [
      `team_${team}`,
      memberId(team, 'member'),
    ])
  ).rows[0].role;

describe('a team with more writes at once than its share', () => {
  test('is asked to come back later, and others write as if alone', async () => {
    const release = await holdLock(api, LOCK_TEAM);
    let refusals = 0;
    const many = Array.from({ length: CALLS }, async (_, n) => {
      const answer = await setRole('a', 'member', KEYS[n % KEYS.length]);
      if (answer.status === 503) refusals += 1;
      return answer;
    });
    await untilWaiting(api, SHARE);
    const refused = await Promise.race(many);
    expect(await countWaiting(api.db)).toBe(SHARE);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('2');
    expect(refused.body).toMatchObject({ code: 'unavailable' });
    for (const role of ['admin', 'member']) expect((await setRole('b', role)).status).toBe(200);
    expect((await api.call(api.key('team_a'), 'GET', '/users')).status).toBe(200);

    await until(() => refusals >= CALLS - SHARE - LINE);
    await release();
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });
});

describe('batches of a team', () => {
  test('take the shares of as many writes as they hold', async () => {
    const create = (team: string, count: number) =>
      api.call(api.key(`team_${team}`), 'POST', '/assignments/batch', {
        body: {
          assignments: Array.from({ length: count }, () => ({
            member_id: memberId(team, 'member'),
            title: 'One of many',
            situation_id: 'sit_cold',
            personality_id: 'per_calm',
            industry_id: 'ind_saas',
          })),
        },
      });
    const release = await holdLock(api, `select from member where team_id = 'team_a' for update`);
    const many = Array.from({ length: 10 }, () => create('a', SHARE));
    await untilWaiting(api, 1);
    // Each of these comes after the ten.
    for (let n = 0; n < 3; n += 1) expect((await create('b', 100)).status).toBe(200);
    expect(await countWaiting(api.db)).toBe(1);
    await release();
    for (const { status, body } of await Promise.all(many))
      expect([status, body['created']]).toEqual([200, SHARE]);
  });
});

describe('a service of the host application', () => {
  test('works in the share of the team that it names', async () => {
    const { platform } = await appAsPlatform(api);
    const accept = (team: string) =>
      codeOf(
        platform.members.accept.mutate({
          team_id: `team_${team}`,
          user_id: userId(team, 'member'),
          member_id: memberId(team, 'member'),
        }),
      );
    const release = await holdLock(api, LOCK_TEAM);
    const waiting = Array.from({ length: SHARE }, () => accept('a'));
    await untilWaiting(api, SHARE);
    expect(await accept('b')).toBe('ok');
    await release();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 'ok'));
  });
});

describe('the large bodies of a team', () => {
  const TRPC = '/trpc/v1.cases.create';
  const LARGE = Buffer.from(JSON.stringify('x'.repeat(1_000_000)));
  /** Sends a body without its last byte. Resolves with the status of the answer. */
  const stall = async (path: string, token: string): Promise<number> => {
    const connection = openConnection(api.port);
    onTestFinished(() => connection.close());
    const lines = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
    const length = `Content-Length: ${LARGE.length}`;
    const head = requestBytes(`POST ${path} HTTP/1.1`, [...lines, length], LARGE.subarray(0, -1));
    connection.send(head);
    return (await connection.answer()).status;
  };
  const person = (name: string) =>
    tokenOf({ kind: 'user', userId: userId('a', name), teamId: 'team_a' });

  // While one of them has no room, those that hold it are refused for being slow.
  test('share the room for them, whoever sends them and by which API', async () => {
    const people = await Promise.all(['owner', 'admin', 'member'].map(person));
    const keys = [api.key('team_a'), api.key('team_a', 'cases:write')];
    const statuses = [
      ...people.map((token) => stall(TRPC, token)),
      ...keys.map((token) => stall(`${BASE_PATH}/cases`, token)),
    ];
    expect(await Promise.race(statuses)).toBe(503);
  });
});

describe('a request that takes too long', () => {
  test('gets 503, and leaves nothing behind', async () => {
    const release = await holdLock(api, LOCK_TEAM);
    const refused = await setRole('a', 'admin');
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('2');
    expect(refused.body).toMatchObject({ code: 'unavailable' });
    await release();
    expect(await readRole('a')).toBe('member');
  });
});

describe('a caller who hangs up', () => {
  test.each([
    [
      'the REST API',
      async () => ({
        method: 'PATCH',
        path: `${BASE_PATH}/users/${memberId('a', 'member')}`,
        token: api.key('team_a'),
      }),
    ],
    [
      'the tRPC API',
      async () => ({
        method: 'POST',
        path: '/trpc/v1.members.update',
        token: await tokenOf({
          kind: 'user',
          userId: userId('a', 'owner'),
          teamId: 'team_a',
        }),
      }),
    ],
  ])('leaves nothing waiting behind in %s, and one line in the log', async (_api, make) => {
    const { method, path, token } = await make();
    const wanted = method === 'POST' ? 'call' : 'request';
    const release = await holdLock(api, LOCK_TEAM);
    logged.length = 0;
    const calling = new AbortController();
    const call = fetch(api.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        role: 'admin',
        ...(method === 'POST' && { member_id: memberId('a', 'member') }),
      }),
      signal: calling.signal,
    });
    await untilWaiting(api, 1);
    calling.abort();
    await expect(call).rejects.toThrow('aborted');
    await untilNoneWaits(api, '%');
    await until(() => logged.length > 0);
    expect(logged).toMatchObject([{ level: 30, msg: wanted, status: 499 }]);
    await release();
    expect((await setRole('a', 'member')).status).toBe(200);
    expect(await readRole('a')).toBe('member');
  });
});
