// Who was let in and is known holds nobody of the same address up, whatever the rest of the request
// takes.
import { connect } from 'node:net';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { until } from '../support/until.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

/** The places of an address in `src/http/concurrency-limit.ts`, those of recognized keys too. */
const PLACES = 16 + 64;

/** The API's clock stands still, so a token that is made later must not be newer than it. */
const NOW = new Date();

let api: TestApi;
beforeAll(async () => {
  // Longer than any test: a place that is not given back stays taken.
  const app = { placeMaxMs: 600_000 };
  api = await startTestApi({
    seed: makeSeed([makeTeam('a')]),
    app,
    clock: fixedClock(NOW),
    // Longer than any test: what waits for a lock goes on waiting.
    statementTimeoutMs: 60_000,
    trustProxy: { kind: 'hops', hops: 1 },
  });
});

const identity = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
const APIS = [
  ['a key', '/api/public/v1/users', '/api/public/v1/me', async () => api.key('team_a')],
  [
    'a person',
    '/trpc/admin.team.policy.set',
    '/trpc/admin.team.policy.get?input={}',
    () => tokenOf(identity, NOW),
  ],
] as const;

test.each(APIS)('bodies of %s that do not come keep nobody out', async (_who, post, get, by) => {
  const authorization = `Bearer ${await by()}`;
  const remaining = async (): Promise<number> => {
    const { status, headers } = await fetch(`${api.url}${get}`, { headers: { authorization } });
    expect(status).toBe(200);
    return Number(headers.get('ratelimit-remaining'));
  };
  const before = await remaining();
  let ended = 0;
  for (let sent = 0; sent < PLACES; sent += 1) {
    const socket = connect(api.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.once('data', () => (ended += 1));
    socket.write(
      `POST ${post} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
  }
  // All of them were let in and counted, and so is each of the questions after that.
  let asked = 0;
  await until(async () => before - (await remaining()) - (asked += 1) === PLACES);
  // None of them has given its place back by its end.
  expect(ended).toBe(0);
});

test('the callers of one proxy do not wait for each other', async () => {
  const ask = async (path: string, ip: string): Promise<number> =>
    (await fetch(api.url + path, { headers: { 'x-forwarded-for': ip } })).status;
  const [busy, other] = ['203.0.113.1', '203.0.113.2'];
  const release = await holdLock(api, lockWhole('rate_counter', 'bucket'));
  /** Many more than an answer takes that waits for nothing. */
  const roundTrips = async (): Promise<string> => {
    for (let count = 0; count < 50; count += 1) await ask('/healthz', other);
    return 'no place';
  };
  // Each of them waits to be counted.
  const asked = Array.from({ length: 16 }, () => ask('/api/public/v1/me', busy));
  await until(async () => {
    asked.push(ask('/healthz', busy));
    return (await Promise.race([asked.at(-1), roundTrips()])) === 'no place';
  });
  const first = [
    ask('/healthz', other).then(() => other),
    ...asked.map((one) => one.then(() => busy)),
  ];
  expect(await Promise.race(first)).toBe(other);
  await release();
  await Promise.all(asked);
});
