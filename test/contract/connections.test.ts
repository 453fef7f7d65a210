// What happens to the connection after a response. A refusal does not wait for the request's body,
// so the client must learn whether it may keep using the connection.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import type { AppOptions } from '../../src/http/server.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { requireDocumentedResponse } from '../support/response-contract.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { openConnection, requestBytes } from './raw-http.ts';

let api: TestApi;
beforeAll(async () => {
  const teams = [
    makeTeam('a'),
    makeTeam('suspended', { status: 'suspended' }),
    makeTeam('busy', { rate_limit_per_min: 1 }),
  ];
  api = await startTestApi({
    clock: fixedClock(new Date('2026-11-02T09:00:00Z')),
    seed: makeSeed(teams),
  });
  await api.call(api.key('team_busy'), 'GET', '/me');
});

const JSON_TYPE = 'Content-Type: application/json';
/** The body looks like a request, so that it would get a response if it were mistaken for one. */
const BODY = `GET ${BASE_PATH}/nowhere HTTP/1.1\r\nHost: x\r\n\r\n`;

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly path?: string;
  readonly key?: () => string;
  readonly headers?: readonly string[];
}

const full = () => api.key('team_a');
const REFUSALS: readonly Refusal[] = [
  { status: 403, code: 'insufficient_scope', key: () => api.key('team_a', 'none') },
  { status: 403, code: 'api_disabled', key: () => api.key('team_suspended') },
  { status: 404, code: 'not_found', path: '/no/such/path' },
  { status: 405, code: 'bad_request', method: 'PUT' },
  { status: 415, code: 'bad_request', headers: ['Content-Type: text/plain'] },
  { status: 422, code: 'validation_error', method: 'PATCH', path: '/users/%' },
  { status: 429, code: 'rate_limited', key: () => api.key('team_busy') },
];

/** Returns the head of a request whose body is `BODY`. */
function headOf({
  method = 'POST',
  path = '/users',
  key = full,
  headers = [JSON_TYPE],
}: Refusal): Buffer {
  const authorization = key() === '' ? [] : [`Authorization: Bearer ${key()}`];
  return requestBytes(`${method} ${BASE_PATH}${path} HTTP/1.1`, [
    ...authorization,
    ...headers,
    `Content-Length: ${BODY.length}`,
  ]);
}

const me = () => requestBytes(`GET ${BASE_PATH}/me HTTP/1.1`, [`Authorization: Bearer ${full()}`]);

function expectRefusal(
  { method = 'POST', path = '/users', status, code }: Refusal,
  answer: ApiResponse,
): void {
  requireDocumentedResponse({ method, path }, answer);
  expect(answer).toMatchObject({ status, body: { code } });
}

describe.each(REFUSALS)('after $status $code', (refusal) => {
  test('before the body was received, the response says that the connection closes', async () => {
    const connection = openConnection(api.port);
    connection.send(headOf(refusal));
    const answer = await connection.answer();
    expectRefusal(refusal, answer);
    expect(answer.headers['connection']).toBe('close');
    expect(await connection.ended()).toBe('');
  });

  test('after the body was received, the connection serves the next request', async () => {
    const connection = openConnection(api.port);
    connection.send(Buffer.concat([headOf(refusal), Buffer.from(BODY)]));
    const answer = await connection.answer();
    expectRefusal(refusal, answer);
    expect(answer.headers['connection']).toBe('keep-alive');
    connection.send(me());
    expect((await connection.answer()).status).toBe(200);
    connection.close();
  });
});

test('after a large body that was read, the connection serves the next request', async () => {
  const connection = openConnection(api.port);
  const send = async (method: string, path: string, body: object) => {
    const text = JSON.stringify(body);
    const lines = [`Authorization: Bearer ${full()}`, JSON_TYPE, `Content-Length: ${text.length}`];
    connection.send(requestBytes(`${method} ${BASE_PATH}${path} HTTP/1.1`, lines) + text);
    return connection.answer();
  };
  const fields = { text: 'x'.repeat(20_000) };
  const created = await send('POST', '/cases', { user_id: userId('a', 'member'), fields });
  const changed = await send('PATCH', `/cases/${created.body.id}`, { fields });
  connection.close();
  expect([created.status, changed.status]).toEqual([201, 200]);
  for (const { headers } of [created, changed]) expect(headers['connection']).toBe('keep-alive');
});

test('after a 401 the body is skipped and the connection serves the next request', async () => {
  const refusal: Refusal = { status: 401, code: 'unauthorized', key: () => '' };
  const connection = openConnection(api.port);
  connection.send(headOf(refusal));
  const answer = await connection.answer();
  expectRefusal(refusal, answer);
  expect(answer.headers['connection']).toBe('keep-alive');
  connection.send(Buffer.concat([Buffer.from(BODY), me()]));
  expect((await connection.answer()).body).toMatchObject({ tenant_id: 'team_a' });
  connection.close();
});

test('after a 401 a large body is not skipped: the connection closes', async () => {
  const large = ['Content-Length: 20000', 'Transfer-Encoding: chunked'];
  for (const length of large) {
    const connection = openConnection(api.port);
    connection.send(requestBytes(`POST ${BASE_PATH}/users HTTP/1.1`, [JSON_TYPE, length]));
    const { status, headers } = await connection.answer();
    expect([status, headers['connection']]).toEqual([401, 'close']);
    expect(await connection.ended()).toBe('');
  }
});

test('after bytes that are not HTTP, the response says that the connection closes', async () => {
  const large = requestBytes(`GET ${BASE_PATH}/me HTTP/1.1`, [`X-Large: ${'x'.repeat(20_000)}`]);
  for (const [bytes, status] of [['hello\r\n\r\n', 400] as const, [large, 431] as const]) {
    const connection = openConnection(api.port);
    connection.send(bytes);
    const answer = await connection.answer();
    expectRefusal({ status, code: 'bad_request' }, answer);
    expect(answer.headers['connection']).toBe('close');
    expect(await connection.ended()).toBe('');
  }
});

// Other addresses of this machine are on Linux only.
describe.runIf(process.platform === 'linux')('when hundreds of answers to an address wait', () => {
  const CROWD = '127.0.0.2';

  /** Resolves with the first answer that ends its connection, out of more than may wait. */
  async function flood(port: number, headers: readonly string[] = []): Promise<ApiResponse> {
    const crowd = Array.from({ length: 240 }, () => openConnection(port, CROWD));
    onTestFinished(() => crowd.forEach((connection) => connection.close()));
    await Promise.all(crowd.map((connection) => connection.opened));
    // A large file, which costs as much as several answers.
    const request = requestBytes('GET /llms-full.txt HTTP/1.1', ['If-None-Match: *', ...headers]);
    // More of them than a busy machine answers before the first ones need not wait any longer.
    const requests = Buffer.concat(Array.from({ length: 8 }, () => request));
    for (const connection of crowd) connection.send(requests);
    return Promise.any(
      crowd.map(async (connection) => {
        for (;;) {
          const answer = await connection.answer();
          if (answer.headers['connection'] === 'close') return answer;
        }
      }),
    );
  }
  const limited = (trustProxy: AppOptions['trustProxy']) =>
    startTestApi({
      seed: makeSeed([makeTeam('a')]),
      connectionLimits: { suspectEveryMs: 1_000_000 },
      trustProxy,
    });
  const health = requestBytes('GET /healthz HTTP/1.1', []);

  test('the next ones end their connections, and the address may open few', async () => {
    const { port } = await limited({ kind: 'none' });
    expect((await flood(port)).status).toBe(429);
    const [late, other] = [openConnection(port, CROWD), openConnection(port)];
    expect(await late.ended()).toBe('');
    other.send(health);
    expect((await other.answer()).status).toBe(200);
    other.close();
  });

  test('a proxy may open as many as before', async () => {
    const { port } = await limited({ kind: 'hops', hops: 1 });
    expect((await flood(port, ['X-Forwarded-For: 198.51.100.1'])).status).toBe(429);
    const proxied = openConnection(port, CROWD);
    proxied.send(health);
    expect((await proxied.answer()).status).toBe(200);
    proxied.close();
  });
});

describe('a request that a proxy may read in another way is refused', () => {
  test.each([
    ['two hosts', '/healthz', ['Host: other']],
    ['two hosts of the API', `${BASE_PATH}/me`, ['Host: localhost']],
    ['an encoding beside chunked', '/healthz', ['Transfer-Encoding: gzip, chunked']],
    ['chunked twice', '/healthz', ['Transfer-Encoding: chunked, chunked']],
  ])('%s', async (_name, path, headers) => {
    const connection = openConnection(api.port);
    connection.send(requestBytes(`GET ${path} HTTP/1.1`, headers));
    const answer = await connection.answer();
    expectRefusal({ status: 400, code: 'bad_request' }, answer);
    expect(answer.headers['connection']).toBe('close');
  });
});

test.each([
  ['without a host', 400, 'Connection: keep-alive'],
  ['that expects what nobody offers', 417, 'Host: localhost\r\nExpect: foo'],
])('a request %s is refused with a problem', async (_name, status, lines) => {
  for (const path of ['/healthz', `${BASE_PATH}/me`]) {
    const connection = openConnection(api.port);
    connection.send(`GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`);
    const answer = await connection.answer();
    expectRefusal({ status, code: 'bad_request' }, answer);
    expect(answer.headers['connection']).toBe('close');
  }
});

test.each(['a b', 'u:p@x', 'x/y', 'x:y', '[::1', '%zz', 'm\u00fcller'])(
  'so is a host that is none: %j',
  async (host) => {
    for (const [path, version] of [
      ['/healthz', '1.0'],
      [`${BASE_PATH}/me`, '1.1'],
    ] as const) {
      const connection = openConnection(api.port);
      connection.send(`GET ${path} HTTP/${version}\r\nHost: ${host}\r\n\r\n`);
      const answer = await connection.answer();
      expectRefusal({ status: 400, code: 'bad_request' }, answer);
      expect(answer.headers['connection']).toBe('close');
    }
  },
);

test.each([
  'GET /healthz HTTP/1.0\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: customer_api.test:8080\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x%20y:99999\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: [::1]:\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n',
])('what HTTP allows is answered: %j', async (bytes) => {
  const connection = openConnection(api.port);
  connection.send(bytes);
  const first = await connection.answer();
  const last = first.status === 100 ? await connection.answer() : first;
  expect(last.status).toBe(200);
  connection.close();
});

test.each(['/API/public/v1/me', '/api/Public/v1/me', '/Healthz', '/TRPC/v1.me.get', '/Docs'])(
  'a path in other case is none: %s',
  async (path) => {
    const headers = { authorization: `Bearer ${full()}` };
    expect((await fetch(api.url + path, { headers })).status).toBe(404);
  },
);

test.each(['/docs', '/admin', '/trpc/v1.me.get', '/trpc-session', '/healthz', `${BASE_PATH}/me`])(
  'the owner of the host decides about HSTS: %s',
  async (path) => {
    const { headers } = await fetch(api.url + path);
    expect(headers.get('strict-transport-security')).toBeNull();
  },
);

test.each([
  ['GET', '/no/such/path', 404],
  ['PUT', '/me', 405],
])('%s %s with a key shows the limit of the key', async (method, path, status) => {
  const team = await startTestApi({
    clock: fixedClock(new Date('2026-11-02T09:00:00Z')),
    seed: makeSeed([makeTeam('few', { rate_limit_per_min: 7 })]),
  });
  const refused = await team.call(team.key('team_few'), method, path);
  expect(refused.status).toBe(status);
  expect(refused.headers).toMatchObject({ 'ratelimit-limit': '7', 'ratelimit-remaining': '6' });
});
