// Whatever is refused without work waits for the throttle of its address (`src/http/throttle.ts`).
import { beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Whose answers the throttle was asked for. */
const asked: string[] = [];
let release = (): void => undefined;
const throttle = (network: string): Promise<void> => {
  asked.push(network);
  return new Promise((done) => (release = done));
};

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a')]),
    trustProxy: { kind: 'hops', hops: 1 },
    app: { throttle },
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
  ['a handed-over key that is not there', 'POST', '/handover/open', 404, { body: form }],
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
