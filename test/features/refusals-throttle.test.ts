// Whatever is refused without work waits for the throttle of its address (`src/http/throttle.ts`).
import { once } from 'node:events';
import { get } from 'node:http';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Limit } from '../../src/core/limits.ts';
import type { Wait } from '../../src/http/throttle.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Whose answers the throttle was asked for. */
const asked: string[] = [];
/** How many refusals each of these answers counts as. */
const costs: number[] = [];
/** Whether too many answers of each address wait. */
let isFull = false;
const held: (() => void)[] = [];
/** The limits that have refused something. */
const limits: Limit[] = [];
const throttle = (network: string, cost = 1): Wait => {
  asked.push(network);
  costs.push(cost);
  return isFull ? 'full' : new Promise((done) => held.push(done));
};
const release = (): void => held.splice(0).forEach((done) => done());

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a')]),
    trustProxy: { kind: 'hops', hops: 1 },
    app: { throttle },
    observeRefusal: (limit) => void limits.push(limit),
  });
});

const form = new URLSearchParams({ token: 'x' });
const invalid = { authorization: 'Bearer x' };
/** Each case has an address of its own. */
let address = 0;

test.each([
  ['a call without a key', 'GET', '/api/public/v1/me', 401, {}],
  ['a change without a key', 'POST', '/api/public/v1/users', 401, { body: form }],
  ['an unknown path', 'GET', '/api/public/v1/nothing', 404, {}],
  [
    'a call of the app without a session',
    'GET',
    '/trpc/v1.me.get?input={}',
    401,
    { headers: invalid },
  ],
  ['a change in the app without a session', 'POST', '/trpc/v1.members.invite', 401, { body: form }],
  ['a session for an invalid token', 'POST', '/trpc-session', 401, { headers: invalid }],
  ['a look at no session', 'GET', '/trpc-session', 401, {}],
  ['a sign-out of nobody', 'DELETE', '/trpc-session', 204, {}],
  ['the link of another origin', 'POST', '/trpc-session/link', 403, { body: form }],
  ['no form at all', 'POST', '/trpc-session/link', 403, { body: 'x' }],
  ['a link of a mail that is none', 'GET', '/unsubscribe/x', 404, {}],
  ['a page that is not there', 'GET', '/nothing', 404, {}],
] as const)('%s', async (_what, method, path, status, given) => {
  asked.length = 0;
  address += 1;
  const ip = `203.0.113.${address}`;
  const init: RequestInit = { method, ...given };
  init.headers = new Headers(init.headers);
  init.headers.set('x-forwarded-for', ip);
  let isAnswered = false;
  const answer = fetch(api.url + path, init).then((response) => {
    isAnswered = true;
    return response.status;
  });
  while (asked.length === 0 && !isAnswered) await fetch(`${api.url}/healthz`);
  await fetch(`${api.url}/healthz`);
  expect({ asked, isAnswered }).toEqual({ asked: [ip], isAnswered: false });
  release();
  expect(await answer).toBe(status);
});

test.each([
  ['a page', '/docs', 429],
  ['a search', '/docs/search?q=webhook', 429],
  ['a file of the admin page', '/admin/assets/none.js', 429],
  ['the link of a mail', '/unsubscribe/x', 429],
  ['a refusal, which needs no more work,', '/api/public/v1/me', 401],
  ['whether the process lives', '/healthz', 200],
] as const)('while too many wait, %s is answered at once', async (_what, path, status) => {
  onTestFinished(() => void (isFull = false));
  isFull = true;
  // The service ends the connections.
  const options = { agent: false, headers: { 'x-forwarded-for': '203.0.113.200' } };
  const [response] = await once(get(api.url + path, options), 'response');
  response.resume();
  expect(response.statusCode).toBe(status);
  expect(response.headers['retry-after']).toBe(status === 429 ? '2' : undefined);
});

/** A team's share of the transactions, and what may wait for it. */
const MANY = 4 + 100;

/**
 * Makes this call while the team's queue is full, and resolves with the status of its answer. On a
 * busy machine some in the queue may have given up before: then it begins anew.
 */
async function callWhenBusy(
  ip: string,
  path: string,
  init: RequestInit,
  isHeldBack = true,
): Promise<number> {
  asked.length = 0;
  costs.length = 0;
  limits.length = 0;
  const team = api.db.forCaller({ share: 'team_a' });
  const done = Promise.withResolvers<void>();
  let hasRoom = false;
  const giveUp = (): void => void (hasRoom = true);
  const others = Array.from({ length: MANY }, () =>
    team.transaction(() => done.promise).catch(giveUp),
  );
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/json');
  headers.set('x-forwarded-for', ip);
  let status: number | null = null;
  const answer = fetch(api.url + path, { ...init, headers }).then((response) => {
    status = response.status;
  });
  await until(() => hasRoom || limits.includes('team_queue_length'));
  const isRefused = limits.includes('team_queue_length');
  if (isRefused && isHeldBack) await until(() => asked.includes(ip));
  else if (isRefused) await answer;
  done.resolve();
  await Promise.all(others);
  const given = await until(() => {
    release();
    return status;
  });
  return isRefused ? given : callWhenBusy(ip, path, init, isHeldBack);
}

test('a change of a team that has too many in progress', async () => {
  const ip = '203.0.113.255';
  const status = await callWhenBusy(ip, `${BASE_PATH}/users/${memberId('a', 'member')}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${api.key('team_a')}` },
    body: JSON.stringify({ role: 'member' }),
  });
  expect({ status, asked, costs }).toEqual({ status: 503, asked: [ip], costs: [1] });
});

// One address of the host application calls for all teams.
test('no call of the host application for a team that has too many in progress', async () => {
  const token = await tokenOf({ kind: 'platform', service: 'training' });
  const status = await callWhenBusy(
    '203.0.113.253',
    '/trpc/platform.members.deletePerson',
    {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ team_id: 'team_a', user_id: userId('a', 'member') }),
    },
    false,
  );
  expect({ status, asked }).toEqual({ status: 503, asked: [] });
});

test('changes in the app of a team that has too many in progress, for each of them', async () => {
  const ip = '203.0.113.254';
  const token = await tokenOf({ kind: 'user', teamId: 'team_a', userId: userId('a', 'owner') });
  const input = { member_id: memberId('a', 'member'), role: 'member' };
  const path = '/trpc/v1.members.update,v1.members.update?batch=1';
  const status = await callWhenBusy(ip, path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ 0: input, 1: input }),
  });
  expect({ status, asked, costs }).toEqual({ status: 503, asked: [ip], costs: [2] });
});
