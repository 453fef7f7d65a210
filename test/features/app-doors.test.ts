// Every route of the app that is no procedure, for everybody who might come: status and headers.
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { trpcRouter, type TrpcOptions } from '../../src/http/app/trpc.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { openSession, tokenOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { followLink, HOST, linkToken, sent } from '../support/session-links.ts';

const NEW_SECRET = 'the secret that comes after it, just as long';

let api: TestApi;
/** The same service after APP_SECRET was changed: with the secret of before, and without it. */
let [during, after]: TestApi[] = [];

beforeAll(async () => {
  const database = await createTestDatabase();
  const seed = makeSeed([makeTeam('a'), makeTeam('b', { status: 'suspended' })]);
  const app = { adminHostOrigins: [HOST] };
  const shared = { app, developmentTeamId: 'team_a' };
  api = await startTestApi({ ...shared, database, seed });
  const kept = { ...database, drop: async () => undefined };
  const later = (previous: string | null) =>
    startTestApi({
      ...shared,
      database: kept,
      seed: makeSeed([]),
      services: { secrets: { current: NEW_SECRET, previous } },
    });
  [during, after] = [await later(TEST_APP_SECRET), await later(null)];
});

type Headers = Record<string, string>;
interface Asked {
  readonly host?: string;
  readonly headers?: Headers;
  readonly form?: Headers;
}

/** The status and the headers that matter, in one line. Nobody may keep what a route answers. */
async function ask(on: TestApi | undefined, route: string, { host, headers, form }: Asked = {}) {
  const [method = '', path = ''] = route.replace(':userId', 'usr_a_owner').split(' ');
  const response = await request(`${on?.url}${path}`, {
    method: method as 'GET',
    headers: {
      ...headers,
      ...(host !== undefined && { host }),
      ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    body: form ? new URLSearchParams(form).toString() : null,
  });
  await response.body.dump();
  const of = (name: string): string => String(response.headers[name] ?? '-').split(';')[0] ?? '';
  expect(of('cache-control')).toBe('no-store');
  expect(of('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  expect(of('x-content-type-options')).toBe('nosniff');
  const cookie = of('set-cookie').replace(/=.+/, '=…');
  return [response.statusCode, of('content-type'), of('www-authenticate'), cookie].join(' ');
}

const bearerOf = async (team: string): Promise<Headers> => {
  const identity = { kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` } as const;
  return { authorization: `Bearer ${await tokenOf(identity)}` };
};
const PROBLEM = 'application/problem+json';
const TEXT = 'text/plain';
const JSON_TYPE = 'application/json';

/** What each route answers to: no token, a suspended team, a foreign host, and to the owner. */
const DOORS: Record<string, readonly [string, string, string, string]> = {
  'POST /trpc-session': [
    `401 ${PROBLEM} Bearer -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - svc_session=…`,
    `200 ${JSON_TYPE} - svc_session=…`,
  ],
  'GET /trpc-session': [
    `401 ${PROBLEM} Bearer -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
  ],
  'DELETE /trpc-session': [
    '204 - - svc_session=',
    '204 - - svc_session=',
    '204 - - svc_session=',
    '204 - - svc_session=',
  ],
  'GET /trpc-session/development': [
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - -`,
  ],
  'POST /trpc-session/development/:userId': [
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - -`,
  ],
  'POST /trpc-session/link': [
    `303 ${TEXT} Bearer svc_session=`,
    `403 ${TEXT} - -`,
    `303 ${TEXT} - svc_session=…`,
    `303 ${TEXT} - svc_session=…`,
  ],
};

test('the table has every route', () => {
  const options = {
    tokenKey: null,
    services: { clock: systemClock },
    publicUrl: api.url,
    developmentTeamId: 'team_a',
  } as unknown as TrpcOptions;
  const routes = trpcRouter(options, []).stack.flatMap(({ route }) =>
    (route?.stack ?? []).map(({ method }) => `${method.toUpperCase()} ${route?.path}`),
  );
  expect(routes.toSorted()).toEqual(Object.keys(DOORS).toSorted());
});

describe.each(Object.entries(DOORS))('%s', (route, [none, suspended, foreign, owner]) => {
  const isLink = route.endsWith('/link');
  /** What the owner of a team sends to this route. */
  const askedBy = async (team: string): Promise<Asked> =>
    isLink
      ? { headers: { origin: HOST }, form: { token: await linkToken({}, team) } }
      : { headers: await bearerOf(team) };

  test('without a token', async () => {
    const asked = isLink ? { headers: { origin: HOST }, form: {} } : {};
    expect(await ask(api, route, asked)).toBe(none);
  });

  test('for a suspended team', async () => {
    expect(await ask(api, route, await askedBy('b'))).toBe(suspended);
  });

  test('at a foreign host', async () => {
    expect(await ask(api, route, { host: 'evil.example', ...(await askedBy('a')) })).toBe(foreign);
  });

  test('for the owner, before and after a change of APP_SECRET', async () => {
    for (const on of [api, during, after])
      expect(await ask(on, route, await askedBy('a'))).toBe(owner);
  });
});

test('a link from a page of another origin opens nothing', async () => {
  const asked = { headers: { origin: 'https://evil.example' }, form: { token: await linkToken() } };
  expect(await ask(api, 'POST /trpc-session/link', asked)).toBe(`403 ${TEXT} - -`);
});

describe('a session of the secret of before', () => {
  const OPEN = `200 ${JSON_TYPE} - -`;
  const CLOSED = `401 ${PROBLEM} Bearer -`;

  test('that a link opened goes on until that secret is gone', async () => {
    const headers = sent((await followLink(api, await linkToken())).cookie);
    const states = [];
    for (const on of [api, during, after])
      states.push(await ask(on, 'GET /trpc-session', { headers }));
    expect(states).toEqual([OPEN, OPEN, CLOSED]);
    // It cannot be ended there either, but where it is known.
    expect(await ask(after, 'DELETE /trpc-session', { headers })).toBe('204 - - svc_session=');
    expect(await ask(during, 'GET /trpc-session', { headers })).toBe(OPEN);
    expect(await ask(during, 'DELETE /trpc-session', { headers })).toBe('204 - - svc_session=');
    expect(await ask(api, 'GET /trpc-session', { headers })).toBe(CLOSED);
  });

  test('keeps its CSRF token until that secret is gone', async () => {
    const { authorization = '' } = await bearerOf('a');
    const { headers } = await openSession(api, authorization.replace('Bearer ', ''));
    const change = async (on: TestApi | undefined): Promise<number> =>
      (
        await fetch(`${on?.url}/trpc/v1.members.create`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: '{',
        })
      ).status;
    expect([await change(api), await change(during), await change(after)]).toEqual([400, 400, 401]);
  });
});
