// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// oxlint-disable vitest/no-standalone-expect -- `when` is `it`
// Any invalid request gets the documented problem response, and nothing is written.
import { SANDBOX_END } from '../../src/core/sandbox.ts';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { startTestApi, type ApiResponse, type CallOptions, type TestApi } from '../support/api.ts';
import { requireDocumentedResponse } from '../support/response-contract.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { requestBytes, sendBytes } from './raw-http.ts';
import {
  addDeliveries,
  existingId,
  fillPath,
  queryNamesOf,
  readState,
  validRequest,
  when,
} from './requests.ts';

const MIB = 1024 * 1024;
const SURROGATE = '\ud800';

const TEAM = `a${SANDBOX_END}`;

let api: TestApi;
let key: string;
/** After the test before. */
let state: Record<string, string>;

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam(TEAM)]), allowPrivateTargets: true });
  // A sandbox has every operation.
  key = api.key(`team_${TEAM}`);
  await addDeliveries(api.db);
  state = await readState(api.db);
});

afterEach(async () => {
  const before = state;
  state = await readState(api.db);
  expect(state, 'something was written').toEqual(before);
});

const BODY_ENDPOINTS = ENDPOINTS.filter((endpoint) => endpoint.bodyName !== null);
const QUERY_ENDPOINTS = ENDPOINTS.filter(
  (endpoint) =>
    endpoint.method === 'GET' &&
    Object.keys(endpoint.input.shape).length > endpoint.pathParameters.length,
);
const PATH_ENDPOINTS = ENDPOINTS.filter((endpoint) => endpoint.pathParameters.length > 0);

const pathOf = (endpoint: Endpoint): string => validRequest(endpoint, TEAM).path;
const validBody = (endpoint: Endpoint): Record<string, unknown> =>
  validRequest(endpoint, TEAM).body ?? {};
const send = (endpoint: Endpoint, options: CallOptions): Promise<ApiResponse> =>
  api.call(key, endpoint.method, pathOf(endpoint), options);

const invalid = (path: string, code?: string) => ({
  status: 422,
  body: {
    code: 'validation_error',
    errors: expect.arrayContaining([expect.objectContaining({ path, ...(code ? { code } : {}) })]),
  },
});

describe.each(BODY_ENDPOINTS)('the body of $method $path', (endpoint) => {
  it('must be complete JSON in UTF-8', async () => {
    const wrong: (string | Buffer)[] = [
      '{"',
      '{"a":}',
      '[1,2',
      '"\u0000"',
      `{"title":"\u0000"}`,
      '{}{}',
      ' ',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
      Buffer.concat([
        Buffer.from('{"title":"'),
        Buffer.from([0xed, 0xa0, 0x80]),
        Buffer.from('"}'),
      ]),
      Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')]),
      Buffer.from('{"title":"ä"}', 'latin1'),
    ];
    for (const rawBody of wrong)
      expect(await send(endpoint, { rawBody }), rawBody.toString('hex')).toMatchObject(
        invalid('body', 'invalid_json'),
      );
  });

  it.runIf(endpoint.needsBody)('must be there', async () => {
    for (const answer of [
      await send(endpoint, {}),
      await send(endpoint, { rawBody: '' }),
      await chunked(endpoint, []),
    ]) {
      expect(answer).toMatchObject({ status: 422, body: { code: 'validation_error' } });
    }
  });

  it('must not contain text that cannot be stored, in values or names', async () => {
    for (const [name, value] of Object.entries(validBody(endpoint))) {
      for (const text of ['\0', `a\0b`, SURROGATE, `a${SURROGATE}b`, '\udc00\ud800']) {
        const bad =
          typeof value === 'object' && value !== null
            ? Array.isArray(value)
              ? [text]
              : { nested: [{ deeper: text }] }
            : text;
        expect(
          await send(endpoint, { body: { ...validBody(endpoint), [name]: bad } }),
          name,
        ).toMatchObject({
          status: 422,
          body: { code: 'validation_error' },
        });
        if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
        expect(
          await send(endpoint, { body: { ...validBody(endpoint), [name]: { [text]: 1 } } }),
          name,
        ).toMatchObject(invalid(`body.${name}`, 'invalid_text'));
      }
    }
    for (const name of ['\0', SURROGATE]) {
      expect(await send(endpoint, { body: { ...validBody(endpoint), [name]: 1 } })).toMatchObject({
        status: 422,
        body: { code: 'validation_error' },
      });
    }
  });

  it('is refused when it is nested very deeply', async () => {
    const isFirst = endpoint === BODY_ENDPOINTS[0];
    // One parser reads all bodies.
    for (const depth of isFirst ? [65, 1000, 50_000] : [65]) {
      const arrays = '['.repeat(depth) + ']'.repeat(depth);
      const objects = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
      for (const nested of [arrays, objects]) {
        for (const name of [...Object.keys(validBody(endpoint)), 'unheard_of']) {
          const rawBody = JSON.stringify({ ...validBody(endpoint), [name]: '@' }).replace(
            '"@"',
            nested,
          );
          expect(await send(endpoint, { rawBody }), `${depth} in ${name}`).toMatchObject({
            status: 422,
            body: { code: 'validation_error' },
          });
        }
        expect(await send(endpoint, { rawBody: nested })).toMatchObject({
          status: 422,
          body: { code: 'validation_error' },
        });
      }
    }
  });

  it('must not have a field that every JavaScript object inherits', async () => {
    for (const name of [
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      'then',
      'toJSON',
    ]) {
      const own = JSON.stringify(validBody(endpoint)).slice(0, -1);
      const rawBody = `${own}${own === '{' ? '' : ','}"${name}":{"polluted":true}}`;
      expect(await send(endpoint, { rawBody }), name).toMatchObject(
        invalid(`body.${name}`, name === '__proto__' ? 'invalid_name' : 'unrecognized_keys'),
      );
    }
    for (const [name, value] of Object.entries(validBody(endpoint))) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
      for (const nested of [
        '{"__proto__":null}',
        '{"__proto__":{"polluted":true}}',
        '{"a":[{"__proto__":1}]}',
      ]) {
        const rawBody = JSON.stringify({ ...validBody(endpoint), [name]: '@' }).replace(
          '"@"',
          nested,
        );
        expect(await send(endpoint, { rawBody }), nested).toMatchObject({
          status: 422,
          body: { errors: [{ code: 'invalid_name' }] },
        });
      }
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.runIf(endpoint.pathParameters.length > 0)('must not name what the path names', async () => {
    for (const name of endpoint.pathParameters)
      for (const value of [existingId(name, TEAM), 'another'])
        expect(
          await send(endpoint, { body: { ...validBody(endpoint), [name]: value } }),
        ).toMatchObject(invalid(`body.${name}`, 'unrecognized_keys'));
  });

  it('must have fields of the declared types only', async () => {
    for (const name of Object.keys(validBody(endpoint))) {
      for (const value of [
        '1e999',
        '-0',
        '123456789012345678901234567890',
        '1.5',
        'true',
        '[[]]',
        '{"$ne":null}',
        '[null]',
      ]) {
        const rawBody = JSON.stringify({ ...validBody(endpoint), [name]: '@' }).replace(
          '"@"',
          value,
        );
        // Free-form fields accept any object.
        if (typeof validBody(endpoint)[name] === 'object' && value.startsWith('{')) continue;
        if (name === 'fields' && value.startsWith('[')) continue;
        if (typeof validBody(endpoint)[name] === 'boolean' && value === 'true') continue;
        // Each entry has its own result.
        if (name === 'assignments' && value.startsWith('[')) continue;
        // They are integers, 0.
        if (['grace_s', 'score'].includes(name) && value === '-0') continue;
        expect(await send(endpoint, { rawBody }), `${name}: ${value}`).toMatchObject({
          status: 422,
          body: { code: 'validation_error' },
        });
      }
    }
  });

  it('must be application/json', async () => {
    const rawBody = JSON.stringify(validBody(endpoint));
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'application/json-patch+json',
      'application/json; charset=latin1',
      '*/*',
      '',
      ';',
    ]) {
      const answer = await send(endpoint, { rawBody, headers: { 'content-type': type } });
      expect(answer, type).toMatchObject({
        status: 415,
        body: { code: 'bad_request', detail: expect.any(String) },
      });
    }
    for (const encoding of ['gzip', 'deflate', 'br', 'nonsense']) {
      const answer = await send(endpoint, {
        rawBody: gzipSync(rawBody),
        headers: { 'content-encoding': encoding },
      });
      expect(answer, encoding).toMatchObject({ status: 415, body: { code: 'bad_request' } });
    }
    const untyped = await chunked(endpoint, [Buffer.from(rawBody)], { type: null });
    expect(untyped).toMatchObject({ status: 415, body: { code: 'bad_request' } });
    const headers = { 'content-encoding': 'Identity' };
    expect((await send(endpoint, { rawBody: '[]', headers })).status).toBe(422);
  });

  it('must not be larger than 1 MiB, with or without a Content-Length', async () => {
    const wanted = { status: 413, body: { code: 'bad_request', status: 413 } };
    expect(await sendLength(endpoint, MIB + 1)).toMatchObject(wanted);
    expect(await sendLength(endpoint, Number.MAX_SAFE_INTEGER)).toMatchObject(wanted);
    const chunks = Array.from({ length: 17 }, () => Buffer.alloc(MIB / 16, ' '));
    expect(await chunked(endpoint, chunks)).toMatchObject(wanted);
    expect(await chunked(endpoint, chunks, { type: null })).toMatchObject(wanted);
    const largest = Buffer.alloc(MIB, ' ');
    expect(await send(endpoint, { rawBody: largest })).toMatchObject(
      invalid('body', 'invalid_json'),
    );
  });
});

const BODILESS_POSTS = PATH_ENDPOINTS.filter(
  ({ method, needsBody }) => method === 'POST' && !needsBody,
);

it.each(BODILESS_POSTS)(
  '$method $path takes an empty body of unknown length, of no type, for none',
  async (endpoint) => {
    // It exists nowhere, so that nothing is written.
    const path = fillPath(endpoint, () => 'nowhere');
    expect(await chunked(endpoint, [], { type: null, path })).toMatchObject({ status: 404 });
  },
);

const DELETES = ENDPOINTS.filter(({ method }) => method === 'DELETE');

it.each(DELETES)(
  '$method $path reads no body, so a broken one is no bad_request',
  async (endpoint) => {
    const { method, errors } = endpoint;
    const path = fillPath(endpoint, () => 'nowhere');
    const headers = [
      `Authorization: Bearer ${key}`,
      'Content-Type: text/plain',
      'Content-Length: 50',
    ];
    const bytes = requestBytes(`${method} ${BASE_PATH}${path} HTTP/1.1`, headers, '{"cut');
    expect(checked(method, path, await sendBytes(api.port, bytes))).toMatchObject({ status: 404 });
    expect(errors).not.toContain('bad_request');
  },
);

/** Announces a body of this length and sends none of it. The refusal must not wait for it. */
async function sendLength(endpoint: Endpoint, length: number): Promise<ApiResponse> {
  const { method } = endpoint;
  const path = pathOf(endpoint);
  const headers = [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
  ];
  return checked(
    method,
    path,
    await sendBytes(api.port, requestBytes(`${method} ${BASE_PATH}${path} HTTP/1.1`, headers)),
  );
}

/** `type`: null sends no `Content-Type`. */
async function chunked(
  endpoint: Endpoint,
  chunks: Buffer[],
  {
    type = 'application/json',
    path = pathOf(endpoint),
  }: { type?: string | null; path?: string } = {},
): Promise<ApiResponse> {
  const { method } = endpoint;
  const headers = [`Authorization: Bearer ${key}`, 'Transfer-Encoding: chunked'];
  if (type !== null) headers.push(`Content-Type: ${type}`);
  const parts = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ]);
  const body = Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
  return checked(
    method,
    path,
    await sendBytes(
      api.port,
      requestBytes(`${method} ${BASE_PATH}${path} HTTP/1.1`, headers, body),
    ),
  );
}

function checked(method: string, path: string, response: ApiResponse): ApiResponse {
  requireDocumentedResponse({ method, path }, response);
  return response;
}

const ODD_IDS = [
  'x'.repeat(8000),
  '..',
  '.',
  '%2e%2e',
  '..%2f..%2fetc',
  '%2F',
  'mem_a_owner%2f',
  'mem_a_owner%20',
  '%20mem_a_owner',
  'mem_a_owner%0a',
  '%F0%9F%98%80',
  '%E2%80%AE',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '0',
  '-1',
  '*',
  "'%20or%20'1'='1",
  '%25',
  '%2500',
  '$1',
  '{member_id}',
  'a;b',
  'a:b',
];

describe.each(PATH_ENDPOINTS)('the path of $method $path', (endpoint) => {
  const path = (id: string): string => endpoint.path.replaceAll(/\{\w+\}/g, id);
  const [name = ''] = endpoint.pathParameters;
  const body = endpoint.bodyName === null ? {} : { body: validBody(endpoint) };

  it('may contain any odd id, which is then unknown', async () => {
    for (const id of ODD_IDS) {
      const answer = await api.call(key, endpoint.method, path(id), body);
      expect(answer, id).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
  });

  it('is 422 with malformed percent-encoding or text that cannot be stored', async () => {
    for (const id of ['%', '%2', '%zz', 'a%', '%ff', '%c0%80', '%ed%a0%80', '%f5%80%80%80']) {
      expect(await api.call(key, endpoint.method, path(id), body), id).toMatchObject(
        invalid(`path.${name}`, 'invalid_encoding'),
      );
    }
    for (const id of ['%00', 'a%00b', 'mem_a_owner%00']) {
      expect(await api.call(key, endpoint.method, path(id), body), id).toMatchObject(
        invalid(`path.${name}`, 'invalid_text'),
      );
    }
  });
});

describe.each(QUERY_ENDPOINTS)('the query of $method $path', (endpoint) => {
  const ask = (query: string): Promise<ApiResponse> =>
    api.call(key, 'GET', `${pathOf(endpoint)}?${query}`);

  it('is 422 with bad percent-encoding, text that cannot be stored or a repetition', async () => {
    for (const name of queryNamesOf(endpoint)) {
      for (const value of ['%', '%2', '%zz', '%ff', '%ed%a0%80'])
        expect(await ask(`${name}=${value}`), name).toMatchObject(
          invalid(`query.${name}`, 'invalid_encoding'),
        );
      for (const value of ['%00', 'a%00b'])
        expect(await ask(`${name}=${value}`), name).toMatchObject(invalid(`query.${name}`));
      expect(await ask(`${name}=1&${name}=1`), name).toMatchObject(
        invalid(`query.${name}`, 'repeated'),
      );
    }
  });

  when('limit' in endpoint.input.shape)(
    'takes a limit from 1 to 200 in digits, nothing else',
    async () => {
      for (const limit of [
        '0',
        '201',
        '-1',
        '1.5',
        '1.0',
        '1e2',
        '0x10',
        '%2B1',
        '+1',
        '%201',
        '1%20',
        '',
        'x',
        'null',
        'NaN',
        '99999999999999999999',
        '٣',
      ]) {
        expect(await ask(`limit=${encodeURI(limit).replaceAll('%25', '%')}`), limit).toMatchObject(
          invalid('query.limit'),
        );
      }
      for (const query of ['limit', 'limit=', 'limit[]=1', 'limit[a]=1', '%6cimit=0'].slice(0, 2))
        expect(await ask(query), query).toMatchObject(invalid('query.limit'));
      expect(await ask('%6cimit=0')).toMatchObject(invalid('query.limit'));
    },
  );

  when('cursor' in endpoint.input.shape)(
    'takes no cursor that the list did not issue',
    async () => {
      const position = (text: string): string => Buffer.from(text).toString('base64url');
      const cursors = [
        '',
        'x',
        'x'.repeat(1001),
        '%20',
        position('users'),
        position('other|2026-01-01T00:00:00.000Z|x'),
        position('users|2026-02-30T00:00:00.000Z|x'),
        position('users|9999-99-99T99:99:99.999Z|x'),
        position('users|2026-01-01T00:00:00.000Z|'),
        position('users|2026-01-01T00:00:00.000Z|a\0b'),
        position('users|2026-01-01T00:00:00Z|x'),
      ];
      for (const cursor of cursors) {
        // Only the list of users issues cursors that start with this name. There, the cursors are
        // invalid for other reasons.
        expect(await ask(`cursor=${cursor}`), cursor).toMatchObject(invalid('query.cursor'));
      }
    },
  );

  const times = queryNamesOf(endpoint).filter((name) => name.includes('since'));
  it.each(times)('takes a real date-time with an offset as %s, nothing else', async (name) => {
    const wrong = [
      '',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-02-30T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01 00:00:00Z',
      '2026-0101T00:00:00Z',
      '2026-01-01T00:0000Z',
      '2026-01-01T00:00:00.Z',
      '2026-01-01T00Z',
    ];
    const outside = [
      '0000-01-01T00:00:00Z',
      '10000-01-01T00:00:00Z',
      '+010000-01-01T00:00:00Z',
      '-000001-01-01T00:00:00Z',
      '0001-01-01T00:00:00+23:59',
      '9999-12-31T23:59:59-23:59',
    ];
    const odd = [
      '1767225600',
      'now',
      'yesterday',
      'infinity',
      '2026-01-01T00:00:00+99:99',
      '2026-01-01T00:00:00+2400',
    ];
    for (const value of [...wrong, ...outside, ...odd])
      expect(await ask(`${name}=${encodeURIComponent(value)}`), value).toMatchObject(
        invalid(`query.${name}`),
      );
    // In a query, + means a space.
    expect(await ask(`${name}=2026-01-01T00:00:00+02:00`)).toMatchObject(invalid(`query.${name}`));
    for (const value of [
      '2026-01-01T00:00:00+23:59',
      '2026-01-01T00:00:00-23:59',
      '0001-01-02T00:00:00Z',
      '9999-12-30T23:59:59.999999999Z',
      '2024-02-29T00:00:00Z',
      // As Java, PHP and strftime write them, and the basic form.
      '2026-01-01T09:00Z',
      '2026-01-01T09:00+01:00',
      '2026-01-01T09:00:00+0100',
      '2026-01-01T09:00:00,25-01',
      '20260101T090000Z',
    ]) {
      expect(await ask(`${name}=${encodeURIComponent(value)}`), value).toMatchObject({
        status: 200,
      });
    }
  });

  it.each(queryNamesOf(endpoint))('takes no empty %s', async (name) => {
    for (const query of [name, `${name}=`])
      expect(await ask(query), query).toMatchObject(invalid(`query.${name}`));
  });

  it('may have unknown parameters, empty ones, and names that every object inherits', async () => {
    for (const query of [
      '',
      '&',
      '=',
      '?',
      '&&=&',
      'unheard_of=1&unheard_of=2',
      '__proto__=1',
      'constructor=1',
      'toString',
      '%F0%9F%98%80=1',
      '__proto__[polluted]=1',
    ]) {
      expect(await ask(query), query).toMatchObject({ status: 200 });
    }
    expect(await ask('%=1')).toMatchObject({ status: 422 });
  });
});

describe.each(BODY_ENDPOINTS.filter((endpoint) => 'due_date' in endpoint.input.shape))(
  'due_date of $method $path',
  (endpoint) => {
    it('is a real calendar date', async () => {
      for (const due_date of [
        '2026-02-30',
        '2026-13-01',
        '2025-02-29',
        '0000-01-01',
        '10000-01-01',
        '2026-1-1',
        '2026-01-01T00:00:00Z',
        '',
        'tomorrow',
        'infinity',
        '-2026-01-01',
      ]) {
        expect(
          await send(endpoint, { body: { ...validBody(endpoint), due_date } }),
          due_date,
        ).toMatchObject(invalid('body.due_date'));
      }
    });
  },
);

describe.each(ENDPOINTS.filter((endpoint) => endpoint.method === 'POST'))(
  'the Idempotency-Key of $method $path',
  (endpoint) => {
    it('has at most 100 characters and comes once', async () => {
      const body = endpoint.bodyName === null ? {} : { body: validBody(endpoint) };
      for (const value of ['x'.repeat(101), 'x'.repeat(5000), ['one', 'two'], ['same', 'same']]) {
        expect(
          await send(endpoint, { ...body, headers: { 'idempotency-key': value } }),
          String(value),
        ).toMatchObject(invalid('header.Idempotency-Key'));
      }
    });
  },
);

describe('what the HTTP parser refuses', () => {
  const authorization = () => `Authorization: Bearer ${key}`;

  it('is 431 when the headers are too large', async () => {
    const large = 'x'.repeat(20_000);
    for (const bytes of [
      requestBytes(`GET ${BASE_PATH}/me HTTP/1.1`, [authorization(), `X-Large: ${large}`]),
      requestBytes(`GET ${BASE_PATH}/users?cursor=${large} HTTP/1.1`, [authorization()]),
    ]) {
      expect(checked('GET', '/', await sendBytes(api.port, bytes))).toMatchObject({
        status: 431,
        body: { code: 'bad_request' },
      });
    }
  });

  it('is 400 when it is not HTTP', async () => {
    const post = `POST ${BASE_PATH}/users HTTP/1.1\r\nHost: x\r\n`;
    const requests = [
      'hello\r\n\r\n',
      `GET ${BASE_PATH}/me\0 HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET ${BASE_PATH}/users/\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET ${BASE_PATH}/users/a b HTTP/1.1\r\nHost: x\r\n\r\n`,
      `FETCH ${BASE_PATH}/me HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET ${BASE_PATH}/me HTTP/1.1\r\nHost: x\r\nX-Bad: a\0b\r\n\r\n`,
      `GET ${BASE_PATH}/me HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n`,
      `${post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${post}Content-Length: -1\r\n\r\n`,
      `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`,
    ];
    for (const bytes of requests) {
      expect(checked('GET', '/', await sendBytes(api.port, bytes)), bytes).toMatchObject({
        status: 400,
        body: { code: 'bad_request' },
      });
    }
  });

  it('is a broken chunk of a body, after which the next request is served', async () => {
    const head = [authorization(), 'Content-Type: application/json'];
    const broken = requestBytes(
      `POST ${BASE_PATH}/users HTTP/1.1`,
      [...head, 'Transfer-Encoding: chunked'],
      'zz\r\n{}\r\n0\r\n\r\n',
    );
    await sendBytes(api.port, broken).then(
      (answer) => expect(answer.status).toBeLessThan(500),
      () => undefined,
    );
    expect(await api.call(key, 'GET', '/me')).toMatchObject({ status: 200 });
  });

  it('is not a target in absolute form, which proxies send', async () => {
    const bytes = requestBytes(`GET http://localhost:${api.port}${BASE_PATH}/me HTTP/1.1`, [
      authorization(),
    ]);
    expect(checked('GET', '/me', await sendBytes(api.port, bytes))).toMatchObject({ status: 200 });
  });

  it('is not a body where none is expected', async () => {
    for (const endpoint of ENDPOINTS.filter(({ method }) => method === 'GET')) {
      const bytes = requestBytes(
        `GET ${BASE_PATH}${fillPath(endpoint, () => 'unknown')} HTTP/1.1`,
        [authorization(), 'Content-Length: 3'],
        '{"]',
      );
      expect((await sendBytes(api.port, bytes)).status, endpoint.name).toBe(
        endpoint.pathParameters.length > 0 ? 404 : 200,
      );
    }
  });
});
