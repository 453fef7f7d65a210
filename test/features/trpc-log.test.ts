// What an operator sees of the tRPC API: a log line and a measurement for each call.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { openSandbox } from '../support/sandbox.ts';
import { until } from '../support/until.ts';
import { makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

let api: TestApi;
const lines: Record<string, unknown>[] = [];
const observed: [string, number][] = [];
const modes: string[] = [];
const SECRET = 'ada@a.test';
const ASSIGNMENT = { id: 'asg_there', member_id: memberId('a', 'member'), title: 'There' };

beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a', { assignments: [ASSIGNMENT] })]),
    onLog: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    app: {
      observeCall: (procedure, { status }, _seconds, mode) => {
        observed.push([procedure, status]);
        modes.push(mode);
      },
    },
  });
});
beforeEach(() => {
  lines.length = 0;
  observed.length = 0;
  modes.length = 0;
});

/** The lines of calls, which come after the response. */
const calls = async (count = 1): Promise<Record<string, unknown>[]> => {
  await until(() => observed.length >= count);
  expect(observed).toHaveLength(count);
  return lines.filter(({ msg }) => msg === 'call');
};
const owner = () => tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' });
const ask = async (path: string, token: string | null) =>
  fetch(`${api.url}/trpc/${path}`, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });

test('a call of a person is a line with the team, the kind of caller and the request', async () => {
  const response = await ask('v1.me.get?input={}', await owner());
  expect(response.status).toBe(200);
  expect(await calls()).toEqual([
    expect.objectContaining({
      request_id: response.headers.get('x-request-id'),
      procedure: 'v1.me.get',
      status: 200,
      team: 'team_a',
      kind: 'user',
      network: '127.0.0.0/24',
      ms: expect.any(Number),
    }),
  ]);
  expect(observed).toEqual([['v1.me.get', 200]]);
});

test('a call in a sandbox is measured as one, and its line names the sandbox', async () => {
  await openSandbox(api, 'a');
  const before = observed.length;
  await fetch(`${api.url}/trpc/v1.me.get?input={}`, {
    headers: { authorization: `Bearer ${await owner()}`, 'svc-mode': 'test' },
  });
  await until(() => observed.length > before);
  expect(observed.at(-1)).toEqual(['v1.me.get', 200]);
  expect(modes.at(-1)).toBe('test');
  expect(modes[0]).toBe('live');
  const [line] = lines.filter(({ procedure }) => procedure === 'v1.me.get');
  expect(line).toMatchObject({ team: 'team_a:sandbox' });
});

test('a call of the host application names no team', async () => {
  await ask('platform.catalog', await tokenOf({ kind: 'platform', service: 'training' }));
  expect(await calls()).toMatchObject([{ procedure: 'unknown', kind: 'platform', status: 404 }]);
  expect((await calls())[0]).not.toHaveProperty('team');
});

test('each call of a batch has its own line and result, and the request of all', async () => {
  const names = 'v1.me.get,v1.requests.get,v1.me.get';
  const input = encodeURIComponent(JSON.stringify({ 0: {}, 1: { request_id: 'x' }, 2: {} }));
  const response = await ask(`${names}?batch=1&input=${input}`, await owner());
  const request_id = response.headers.get('x-request-id');
  const made = await calls(3);
  expect(made.map(({ procedure, status, code }) => [procedure, status, code])).toEqual([
    ['v1.me.get', 200, undefined],
    ['v1.requests.get', expect.any(Number), expect.any(String)],
    ['v1.me.get', 200, undefined],
  ]);
  expect(made.map((line) => line['request_id'])).toEqual([request_id, request_id, request_id]);
  expect(observed.map(([, status]) => status < 400)).toEqual([true, false, true]);
});

test('one call of a procedure that fails leaves the line of the other', async () => {
  const names = 'v1.assignments.get,v1.assignments.get';
  const input = encodeURIComponent(
    JSON.stringify({ 0: { assignment_id: 'asg_unknown' }, 1: { assignment_id: 'asg_there' } }),
  );
  await ask(`${names}?batch=1&input=${input}`, await owner());
  const made = await calls(2);
  // Which of them it was is not said: their names are the same.
  expect(made.map(({ status, code }) => [status, code])).toEqual(
    expect.arrayContaining([
      [200, undefined],
      [404, 'not_found'],
    ]),
  );
  expect(observed.map(([, status]) => status)).toEqual(expect.arrayContaining([200, 404]));
});

test('what is refused before its calls is told of each of them', async () => {
  expect((await ask('v1.me.get,v1.me.get?batch=1', null)).status).toBe(401);
  expect(await calls(2)).toMatchObject([
    { procedure: 'v1.me.get', status: 401, code: 'unauthorized' },
    { procedure: 'v1.me.get', status: 401, code: 'unauthorized' },
  ]);
});

test('a name that is no procedure is neither logged nor counted apart', async () => {
  await ask(encodeURIComponent(SECRET), await owner());
  await calls(1);
  await ask('%', await owner());
  await calls(2);
  expect(observed).toEqual([
    ['unknown', 404],
    ['unknown', 400],
  ]);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});
