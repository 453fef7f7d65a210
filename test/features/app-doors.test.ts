// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// Every route that is no procedure, for everybody who might come: status and headers. The routes
// are taken from the app itself, so a new one without a row is red.
import { request } from 'undici';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BASE_PATH, DOCUMENT_PATH } from '../../src/http/api/exchange.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import type { Config } from '../../src/runtime/config.ts';
import { serveMetrics } from '../../src/runtime/metrics.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { openSession, tokenOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
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

/** An answer, with the headers that matter. */
async function ask(on: Pick<TestApi, 'url'> | undefined, route: string, asked: Asked = {}) {
  const { host, headers, form } = asked;
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
  const text = await response.body.text();
  const of = (name: string): string => String(response.headers[name] ?? '-').split(';')[0] ?? '';
  const policy = String(response.headers['content-security-policy'] ?? '');
  const [, frame = '-'] = /frame-ancestors ([^;]+)/.exec(policy) ?? [];
  return { status: response.statusCode, text, frame, of };
}

/** What a door answers, in one line. Nobody may keep it. */
async function knock(on: TestApi | undefined, route: string, asked: Asked = {}): Promise<string> {
  const { status, of } = await ask(on, route, asked);
  expect(of('cache-control')).toBe('no-store');
  expect(of('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  expect(of('x-content-type-options')).toBe('nosniff');
  const cookie = of('set-cookie').replace(/=.+/, '=…');
  const line = [status, of('content-type'), of('www-authenticate'), cookie];
  return (of('location') === '-' ? line : [...line, of('location')]).join(' ');
}

const bearerOf = async (team: string): Promise<Headers> => {
  const identity = { kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` } as const;
  return { authorization: `Bearer ${await tokenOf(identity)}` };
};
const PROBLEM = 'application/problem+json';
const TEXT = 'text/plain';
const JSON_TYPE = 'application/json';
const HTML = 'text/html';

const TO_PAGE = `/admin#from-host=${encodeURIComponent(HOST)}`;

/**
 * What each door answers: without a token, for a suspended team, at a foreign host, to the owner,
 * and for a session of a secret that is gone.
 */
const DOORS: Record<string, readonly [string, string, string, string, string]> = {
  'POST /trpc-session': [
    `401 ${PROBLEM} Bearer -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - svc_session=…`,
    `200 ${JSON_TYPE} - svc_session=…`,
    `401 ${PROBLEM} Bearer -`,
  ],
  'GET /trpc-session': [
    `401 ${PROBLEM} Bearer -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
    `401 ${PROBLEM} Bearer -`,
  ],
  'DELETE /trpc-session': [
    '204 - - svc_session=',
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
    `200 ${JSON_TYPE} - -`,
  ],
  'POST /trpc-session/development/:userId': [
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
    `403 ${PROBLEM} - -`,
    `200 ${JSON_TYPE} - -`,
    `200 ${JSON_TYPE} - -`,
  ],
  'POST /trpc-session/link': [
    `303 ${TEXT} Bearer svc_session= ${TO_PAGE}`,
    `403 ${TEXT} - -`,
    `303 ${TEXT} - svc_session=… ${TO_PAGE}`,
    `303 ${TEXT} - svc_session=… ${TO_PAGE}`,
    `303 ${TEXT} Bearer svc_session= ${TO_PAGE}`,
  ],
};

const KEPT = 'public, no-cache';
const DOCUMENT = `GET ${BASE_PATH}${DOCUMENT_PATH}`;

/**
 * What the routes answer that ask nobody who they are: for each address that stands for a kind of
 * answer, the status, the type, how long it may be kept, and whether a page of another host may
 * show it in a frame.
 */
const OPEN: Record<string, Record<string, string>> = {
  'GET /healthz': { '/healthz': `200 ${JSON_TYPE} - -` },
  'GET /readyz': { '/readyz': `200 ${JSON_TYPE} - -` },
  'GET /': { '/': `302 ${TEXT} - - /docs` },
  'GET /admin{/*path}': {
    '/admin': `200 ${HTML} ${KEPT} ${HOST}`,
    '/admin/keys': `200 ${HTML} ${KEPT} ${HOST}`,
    '/admin/assets/none.js': `404 ${TEXT} - ${HOST}`,
  },
  'GET /unsubscribe/:token': { '/unsubscribe/none': `404 ${HTML} no-store 'none'` },
  'GET /docs{/*path}': {
    '/docs': `200 ${HTML} ${KEPT} 'none'`,
    '/docs/quickstart': `200 ${HTML} ${KEPT} 'none'`,
    '/docs/quickstart.md': `200 text/markdown ${KEPT} 'none'`,
    '/docs/search?q=key': `200 ${HTML} ${KEPT} 'none'`,
    '/docs/search.json': `200 ${JSON_TYPE} ${KEPT} 'none'`,
    '/docs/assets/docs.css': `200 text/css ${KEPT} 'none'`,
    '/docs/none': `404 ${HTML} ${KEPT} 'none'`,
  },
  'GET /docs.md': { '/docs.md': `200 text/markdown ${KEPT} 'none'` },
  'GET /llms.txt': { '/llms.txt': `200 ${TEXT} ${KEPT} 'none'` },
  'GET /llms-full.txt': { '/llms-full.txt': `200 ${TEXT} ${KEPT} 'none'` },
  [DOCUMENT]: { [DOCUMENT.replace('GET ', '')]: `200 ${JSON_TYPE} ${KEPT} -` },
};

/**
 * Below these, the declarations of the operations and procedures decide. Helmet is there, too. The
 * POST of a mail program is in unsubscribe.test.ts.
 */
const MOUNTED = [BASE_PATH, '/trpc', '/trpc-session', '/unsubscribe', 'POST /unsubscribe/:token'];

/** The part of Express's own objects that tells what it serves. */
interface Layer {
  readonly rawPath: string | readonly string[];
  readonly slash: boolean;
  readonly handle: { readonly stack?: readonly Layer[] };
  readonly route?: {
    readonly path: string | readonly string[];
    readonly stack: readonly { readonly method: string }[];
  };
}

/** The routes, and the paths below which a handler gets everything. */
function routesOf(stack: readonly Layer[], at = ''): string[] {
  return stack.flatMap(({ rawPath, slash, handle, route }) => {
    if (route)
      return [route.path]
        .flat()
        .flatMap((path) => route.stack.map(({ method }) => `${method.toUpperCase()} ${at}${path}`));
    const below = (slash ? [''] : [rawPath].flat()).map((path) => at + path);
    const { stack: inner } = handle;
    return inner ? below.flatMap((path) => routesOf(inner, path)) : below.filter((path) => path);
  });
}

test('the tables have every route of the app', () => {
  const { stack } = (api.app as unknown as { router: { stack: readonly Layer[] } }).router;
  const known = [...Object.keys(DOORS), ...Object.keys(OPEN), ...MOUNTED];
  expect([...new Set(routesOf(stack)), DOCUMENT].toSorted()).toEqual(known.toSorted());
});

/** Somebody of each kind, as they ask a route that does not care. */
async function everybody(): Promise<readonly Asked[]> {
  const session = sent((await followLink(api, await linkToken())).cookie);
  return [
    {},
    { headers: await bearerOf('a') },
    { headers: await bearerOf('b') },
    { headers: { authorization: `Bearer ${api.key('team_b')}` } },
    { headers: { authorization: 'Bearer svck_live_nobody_nothing' } },
    { headers: session },
    { host: 'evil.example' },
    { headers: { 'x-forwarded-host': 'evil.example', origin: 'https://evil.example' } },
  ];
}

describe.each(Object.entries(OPEN))('%s', (_route, answers) => {
  test('answers everybody alike', async () => {
    const callers = await everybody();
    for (const [path, line] of Object.entries(answers)) {
      const texts = new Set<string>();
      for (const on of [api, after])
        for (const asked of callers) {
          const { status, text, frame, of } = await ask(on, `GET ${path}`, asked);
          const given = [status, of('content-type'), of('cache-control'), frame];
          if (of('location') !== '-') given.push(of('location'));
          expect(given.join(' '), path).toBe(line);
          expect([of('set-cookie'), of('www-authenticate')], path).toEqual(['-', '-']);
          expect(text).not.toContain('evil.example');
          texts.add(text.replaceAll(on?.url ?? '', ''));
        }
      expect(texts.size, path).toBe(1);
    }
  });
});

test('the metrics are on a port of their own, for whoever reaches it', async () => {
  const port = await findFreePort();
  const config = { metricsHost: '127.0.0.1', metricsPort: port } as unknown as Config;
  const server = await serveMetrics(config, new Registry());
  onTestFinished(() => void server?.close());
  const metrics = { url: `http://127.0.0.1:${port}` };
  for (const asked of await everybody()) {
    const { status, of } = await ask(metrics, 'GET /metrics', asked);
    expect([status, of('content-type'), of('set-cookie')]).toEqual([200, TEXT, '-']);
    expect((await ask(metrics, 'GET /healthz', asked)).status).toBe(200);
    for (const path of ['/', '/healthz/', '/metrics/', '/trpc-session'])
      expect((await ask(metrics, `GET ${path}`, asked)).status, path).toBe(404);
    expect((await ask(api, 'GET /metrics', asked)).status).toBe(404);
  }
});

describe.each(Object.entries(DOORS))('%s', (route, answers) => {
  const [none, suspended, foreign, owner, stale] = answers;
  const isLink = route.endsWith('/link');
  /** What the owner of a team sends to this route. */
  const askedBy = async (team: string): Promise<Asked> =>
    isLink
      ? { headers: { origin: HOST }, form: { token: await linkToken({}, team) } }
      : { headers: await bearerOf(team) };

  test('without a token', async () => {
    const asked = isLink ? { headers: { origin: HOST }, form: {} } : {};
    expect(await knock(api, route, asked)).toBe(none);
  });

  test('for a suspended team', async () => {
    expect(await knock(api, route, await askedBy('b'))).toBe(suspended);
  });

  test('at a foreign host', async () => {
    expect(await knock(api, route, { host: 'evil.example', ...(await askedBy('a')) })).toBe(
      foreign,
    );
  });

  test('for the owner, before and after a change of APP_SECRET', async () => {
    for (const on of [api, during, after])
      expect(await knock(on, route, await askedBy('a'))).toBe(owner);
  });

  test('for a session of a secret that is gone', async () => {
    const session = sent((await followLink(api, await linkToken())).cookie);
    const [, token = ''] = session.cookie.split('=');
    const ways: readonly Asked[] = isLink
      ? [{ headers: { origin: HOST, ...session }, form: { token } }]
      : [{ headers: { ...session } }, { headers: { authorization: `Bearer ${token}` } }];
    for (const asked of ways) expect(await knock(after, route, asked)).toBe(stale);
  });
});

test('a link from a page of another origin opens nothing', async () => {
  const asked = { headers: { origin: 'https://evil.example' }, form: { token: await linkToken() } };
  expect(await knock(api, 'POST /trpc-session/link', asked)).toBe(`403 ${TEXT} - -`);
});

describe('a session of the secret of before', () => {
  const OPEN = `200 ${JSON_TYPE} - -`;
  const CLOSED = `401 ${PROBLEM} Bearer -`;

  test('that a link opened goes on until that secret is gone', async () => {
    const headers = sent((await followLink(api, await linkToken())).cookie);
    const states = [];
    for (const on of [api, during, after])
      states.push(await knock(on, 'GET /trpc-session', { headers }));
    expect(states).toEqual([OPEN, OPEN, CLOSED]);
    // It cannot be ended there either, but where it is known.
    expect(await knock(after, 'DELETE /trpc-session', { headers })).toBe('204 - - svc_session=');
    expect(await knock(during, 'GET /trpc-session', { headers })).toBe(OPEN);
    expect(await knock(during, 'DELETE /trpc-session', { headers })).toBe('204 - - svc_session=');
    expect(await knock(api, 'GET /trpc-session', { headers })).toBe(CLOSED);
  });

  test('keeps its CSRF token until that secret is gone; a new one has that of now', async () => {
    const { authorization = '' } = await bearerOf('a');
    const openOn = async (on: TestApi | undefined): Promise<Headers> =>
      (await openSession(on ?? api, authorization.replace('Bearer ', ''))).headers;
    const change = async (on: TestApi | undefined, headers: Headers): Promise<number> =>
      (
        await fetch(`${on?.url}/trpc/v1.members.create`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: '{',
        })
      ).status;
    const statuses = async (headers: Headers) => [
      await change(api, headers),
      await change(during, headers),
      await change(after, headers),
    ];
    expect(await statuses(await openOn(api))).toEqual([400, 400, 401]);
    expect(await statuses(await openOn(during))).toEqual([401, 400, 400]);
  });
});

/** nginx takes a process for broken that sends headers of more than 4 KB, by its default. */
const HEAD_MAX_BYTES = 4096;
/** An address of the page: other text is not repeated where one is wanted. */
const LONG = `/admin?${'"'.repeat(4000)}`;
const QUERY = `${LONG}&${Array.from({ length: 800 }, (_, number) => `n${number}=1`).join('&')}`;
/** Three at a time: all headers together may have 16 KB. */
const HEADERS: readonly (readonly string[])[] = [
  ['authorization', 'cookie', 'x-csrf-token'],
  ['accept', 'accept-encoding', 'accept-language'],
  ['idempotency-key', 'if-match', 'if-none-match'],
  ['host', 'origin', 'referer'],
  ['svc-mode', 'svc-team', 'x-request-id'],
  ['traceparent', 'trpc-accept', 'user-agent'],
  ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
];

/** The bytes before the body of an answer. */
async function headBytes(route: string, headers: Headers, body: string | null): Promise<number> {
  const [method = '', path = ''] = route.split(' ');
  const answer = await request(`${api.url}${path}`, { method: method as 'GET', headers, body });
  await answer.body.dump();
  const lines = Object.entries(answer.headers).map((pair) => `${pair.join(': ')}\r\n`);
  return lines.join('').length;
}

test('nothing that a caller sends makes the headers of an answer long', async () => {
  const operations = ENDPOINTS.map(({ method, path }) => `${method} ${BASE_PATH}${path}`);
  const open = Object.values(OPEN).flatMap((paths) => Object.keys(paths));
  const mounted = ['GET /trpc/v1.me.get', 'POST /trpc/v1.members.invite', 'GET /none'];
  const app = [...Object.keys(DOORS), ...open.map((path) => `GET ${path}`), ...mounted];
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: HOST };
  const long: string[] = [];
  const look = async (
    route: string,
    what: string,
    headers: Headers,
    body: string | null = null,
  ) => {
    if ((await headBytes(route, headers, body)) >= HEAD_MAX_BYTES) long.push(`${route}: ${what}`);
  };
  for (const route of [...app, ...operations]) {
    const isApi = operations.includes(route);
    const known = isApi ? { authorization: `Bearer ${api.key('team_a')}` } : await bearerOf('a');
    await look(route, 'nothing', known);
    await look(`${route}${LONG.slice(0, 4000)}`, 'path', known);
    await look(`${route}?${QUERY}`, 'query', known);
    for (const names of HEADERS) {
      const sent = Object.fromEntries(names.map((name) => [name, LONG]));
      await look(route, names.join(), { ...known, ...sent });
    }
    if (isApi || !route.startsWith('POST')) continue;
    for (const name of ['token', 'return']) {
      const fields = new URLSearchParams({ token: await linkToken(), [name]: LONG });
      await look(route, `field ${name}`, { ...known, ...form }, fields.toString());
    }
  }
  expect(long).toEqual([]);
});
