// Whatever is refused without work is throttled: an address gets a hundred refusals at once, and
// then a hundred a second (`src/http/throttle.ts`).
import { beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const REFUSALS = 150;
/** When the last of them is due. Timers count in whole milliseconds. */
const LAST_DUE_MS = 500 - 10;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a')]),
    trustProxy: { kind: 'hops', hops: 1 },
  });
});

/** Each case has an address of its own. */
let address = 0;

const form = new URLSearchParams({ token: 'x' });
const invalid = { authorization: 'Bearer x' };

test.each([
  ['a call without a key', 'GET', '/api/public/v1/me', 401, {}],
  ['an unknown path', 'GET', '/api/public/v1/nothing', 404, {}],
  [
    'a call of the app without a session',
    'GET',
    '/trpc/v1.me.get?input={}',
    401,
    { headers: invalid },
  ],
  ['a session for an invalid token', 'POST', '/trpc-session', 401, { headers: invalid }],
  ['a sign-out of nobody', 'DELETE', '/trpc-session', 204, {}],
  ['the link of another origin', 'POST', '/trpc-session/link', 403, { body: form }],
  ['no form at all', 'POST', '/trpc-session/link', 403, { body: 'x' }],
  ['a page that is not there', 'GET', '/nothing', 404, {}],
] as const)('%s', async (_what, method, path, status, given) => {
  address += 1;
  const init: RequestInit = { method, ...given };
  init.headers = new Headers(init.headers);
  init.headers.set('x-forwarded-for', `203.0.113.${address}`);
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: REFUSALS }, async () => {
      const response = await fetch(api.url + path, init);
      await response.arrayBuffer();
      return response.status;
    }),
  );
  expect(new Set(answers)).toEqual(new Set([status]));
  expect(performance.now() - startedAt).toBeGreaterThan(LAST_DUE_MS);
});
