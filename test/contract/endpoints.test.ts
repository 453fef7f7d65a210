// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// oxlint-disable vitest/no-standalone-expect -- `when` is `it`
// The guarantees of every endpoint, tested from its declaration alone. A new endpoint needs nothing
// here.
import { beforeAll, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import { startTestApi, type ApiResponse, type CallOptions, type TestApi } from '../support/api.ts';
import { expectRateLimited } from '../support/rate-limits.ts';
import { makeFullTeam, makeTeam } from '../support/seed.ts';
import {
  addDeliveries,
  existingId,
  readState,
  requestOn,
  seedForEveryEndpoint,
  teamOf,
  validRequest,
  when,
  type EndpointRequest,
} from './requests.ts';

const UNUSABLE_KEYS = [
  { name: 'expired', expires_at: '2026-01-01T00:00:00Z' },
  { name: 'revoked', revoked_at: '2026-01-01T00:00:00Z' },
  { name: 'elsewhere', allowed_ips: ['10.0.0.0/8', '2001:db8::/32'] },
];

let api: TestApi;
/** An API with a limit of one request per minute and key, whose clock stands still. */
let limited: TestApi;

beforeAll(async () => {
  const others = [
    makeTeam('unusable', { api_keys: UNUSABLE_KEYS }),
    makeFullTeam('foreign'),
    makeFullTeam('suspended', { status: 'suspended' }),
    makeFullTeam('ended', { status: 'ended' }),
    makeFullTeam('starter', { plan: 'starter' }),
  ];
  api = await startTestApi({ seed: seedForEveryEndpoint(others), allowPrivateTargets: true });
  await addDeliveries(api.db);
  limited = await startTestApi({
    seed: seedForEveryEndpoint(),
    keyLimitPerMinute: 1,
    clock: fixedClock(new Date('2026-11-02T09:15:20Z')),
  });
});

const send = (
  key: string | null,
  { method, path, body }: EndpointRequest,
  options: CallOptions = {},
): Promise<ApiResponse> =>
  api.call(key, method, path, { ...(body === undefined ? {} : { body }), ...options });

const ownKey = (endpoint: Endpoint, name?: string): string =>
  api.key(`team_${teamOf(endpoint)}`, name);

/** Removes what differs between any two responses: request ids, times, the remaining rate limit. */
function comparable({ status, headers, body }: ApiResponse): object {
  const varying = [
    'x-request-id',
    'date',
    'ratelimit-remaining',
    'ratelimit-reset',
    'ratelimit-limit',
  ];
  const { request_id: _id, ...rest } = body as Record<string, unknown>;
  return {
    status,
    headers: Object.fromEntries(
      Object.entries(headers).filter(([name]) => !varying.includes(name)),
    ),
    body: rest,
  };
}

describe.each(ENDPOINTS)('$method $path', (endpoint) => {
  const team = teamOf(endpoint);
  const takesBody = endpoint.method === 'POST' || endpoint.method === 'PATCH';
  const bodyOf = (): Record<string, unknown> => validRequest(endpoint, team).body ?? {};

  it('responds with a 401 that tells of a bad key only the form of its header', async () => {
    const good = ownKey(endpoint);
    const [prefix] = /^svck_(?:live|test)_[^_]+_/.exec(good) ?? [''];
    const secret = good.slice(prefix.length);
    const unknownPrefix = prefix.replaceAll(/[0-9a-f](?=[0-9a-f]*_$)/g, '0') + secret;
    /** By what `detail` may tell: the form of the header, which a stranger sees, too. */
    const attempts: Record<string, (string | string[] | null)[]> = {
      missing: [null, ''],
      malformed: [
        'Bearer',
        'Bearer ',
        'Bearer nonsense',
        `Bearer ${prefix}`,
        `Basic ${good}`,
        good,
        `Bearer ${good} ${good}`,
        `Bearer ${good}, Bearer ${good}`,
      ],
      'not valid': [
        `Bearer ${good.slice(0, -1)}`,
        `Bearer ${good}0`,
        `Bearer ${unknownPrefix}`,
        `Bearer ${prefix}${Array.from(secret).toReversed().join('')}`,
        ...UNUSABLE_KEYS.map(({ name }) => `Bearer ${api.key('team_unusable', name)}`),
      ],
      'more than one': [[`Bearer ${good}`, `Bearer ${good}`]],
    };
    const before = await readState(api.db);
    for (const [form, values] of Object.entries(attempts)) {
      const answers: [unknown, object][] = [];
      for (const authorization of values) {
        const headers = authorization === null ? {} : { authorization };
        const answer = await send(null, validRequest(endpoint, team), { headers });
        answers.push([authorization, comparable(answer)]);
      }
      const [, first] = answers[0] ?? [];
      const detail = expect.stringContaining(form);
      expect(first).toMatchObject({ status: 401, body: { code: 'unauthorized', detail } });
      for (const [authorization, answer] of answers)
        expect(answer, String(authorization)).toEqual(first);
    }
    expect(await readState(api.db)).toEqual(before);
  });

  when(endpoint.scope)(
    'answers 403 to a key without its scope, before it looks at ids or values',
    async () => {
      const wanted = {
        status: 403,
        body: { code: 'insufficient_scope', required_scope: endpoint.scope },
      };
      const key = ownKey(endpoint, 'none');
      expect(await send(key, validRequest(endpoint, team))).toMatchObject(wanted);
      expect(
        await send(
          key,
          requestOn(endpoint, team, () => 'unknown'),
        ),
      ).toMatchObject(wanted);
      expect(
        await send(
          key,
          requestOn(endpoint, team, () => '\0'),
        ),
      ).toMatchObject(wanted);
      const { method, path } = validRequest(endpoint, team);
      const malformed = [
        { rawBody: '{"' },
        {
          rawBody: 'x',
          headers: { 'content-type': 'text/plain', 'idempotency-key': 'x'.repeat(101) },
        },
      ];
      for (const content of takesBody ? malformed : [{}]) {
        expect(await api.call(key, method, `${path}?limit=x&cursor=%`, content)).toMatchObject(
          wanted,
        );
      }
    },
  );

  when(endpoint.scope)('needs no other scope', async () => {
    // The body is invalid, so that nothing is done.
    const { method, path } = requestOn(endpoint, team, () => 'unknown');
    const answer = await api.call(
      ownKey(endpoint, endpoint.scope ?? ''),
      method,
      path,
      takesBody ? { body: [] } : {},
    );
    expect(answer.body.code).not.toBe('insufficient_scope');
  });

  it.each(['suspended', 'ended', 'starter'])(
    'answers 403 to the key of a team that is %s',
    async (kind) => {
      const keys = ['full', 'none'].map((name) => api.key(`team_${kind}`, name));
      for (const key of keys)
        expect(await send(key, validRequest(endpoint, kind))).toMatchObject({
          status: 403,
          body: { code: 'api_disabled' },
        });
    },
  );

  it('responds with 429 beyond the limit, and does nothing', async () => {
    const key = limited.key(`team_${team}`);
    const request = validRequest(endpoint, team);
    expect(await limited.call(key, 'GET', '/me')).toMatchObject({
      status: 200,
      headers: { 'ratelimit-limit': '1', 'ratelimit-remaining': '0' },
    });
    const before = await readState(limited.db);
    const answer = await limited.call(
      key,
      request.method,
      request.path,
      request.body ? { body: request.body } : {},
    );
    expectRateLimited(answer, { limit: 1, retryAfterS: 40 });
    expect(await readState(limited.db)).toEqual(before);
  });

  when(endpoint.pathParameters.length > 0)(
    'hides what belongs to another team as if it never existed',
    async () => {
      const before = await readState(api.db);
      const foreign = await send(
        ownKey(endpoint),
        requestOn(endpoint, team, (name) => existingId(name, 'foreign')),
      );
      const unknown = await send(
        ownKey(endpoint),
        requestOn(endpoint, team, (name) => existingId(name, 'nowhere')),
      );
      expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(comparable(foreign)).toEqual(comparable(unknown));
      expect(await readState(api.db)).toEqual(before);
    },
  );

  const bodyIds = Object.keys(bodyOf()).filter(
    (name) =>
      name.endsWith('_id') &&
      name in endpoint.input.shape &&
      /^(member|user|assignment|training|case)_id$/.test(name),
  );
  it.each(bodyIds)(
    'takes another team’s %s in the body as one that never existed',
    async (name) => {
      const attempt = (owner: string) =>
        send(ownKey(endpoint), {
          ...validRequest(endpoint, team),
          body: { ...bodyOf(), [name]: existingId(name, owner) },
        });
      const unknown = await attempt('nowhere');
      expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(comparable(await attempt('foreign'))).toEqual(comparable(unknown));
    },
  );

  const queryIds =
    endpoint.method === 'GET'
      ? Object.keys(endpoint.input.shape).filter(
          (name) => name.endsWith('_id') && !endpoint.pathParameters.includes(name),
        )
      : [];
  it.each(queryIds)('finds nothing for another team’s %s in the query', async (name) => {
    const { path } = validRequest(endpoint, team);
    const answer = await api.call(
      ownKey(endpoint),
      'GET',
      `${path}?${name}=${existingId(name, 'foreign')}`,
    );
    expect(answer).toMatchObject({ status: 200, body: { data: [], next_cursor: null } });
  });

  when(endpoint.method === 'GET')('answers HEAD as GET, without the body', async () => {
    const request = validRequest(endpoint, team);
    const got = await send(ownKey(endpoint), request);
    const head = await send(ownKey(endpoint), { ...request, method: 'HEAD' });
    expect(head.status).toBe(got.status);
    const ofResource = ({ headers }: ApiResponse) =>
      Object.keys(headers).filter((name) => name !== 'connection' && name !== 'keep-alive');
    expect(ofResource(head)).toEqual(ofResource(got));
    expect(head.headers['content-length']).toBe(got.headers['content-length']);
  });

  when(takesBody)(
    'refuses a body that is no JSON object, and one with an unknown field, and names the place',
    async () => {
      const { path } = validRequest(endpoint, team);
      const key = ownKey(endpoint);
      const before = await readState(api.db);
      for (const rawBody of ['{', '{"a":1,}', "{'a':1}", 'undefined', 'NaN', '\ufeff{}x']) {
        const answer = await api.call(key, endpoint.method, path, { rawBody });
        expect(answer, rawBody).toMatchObject({
          status: 422,
          body: { code: 'validation_error', errors: [{ path: 'body', code: 'invalid_json' }] },
        });
      }
      for (const body of [[], [{}], 'text', 7, null, true]) {
        const answer = await api.call(key, endpoint.method, path, { body });
        expect(answer, JSON.stringify(body)).toMatchObject({
          status: 422,
          body: { code: 'validation_error', errors: [{ path: 'body' }] },
        });
      }
      const misspelt = await send(key, {
        ...validRequest(endpoint, team),
        body: { ...bodyOf(), unheard_of: 1 },
      });
      expect(misspelt).toMatchObject({ status: 422, body: { code: 'validation_error' } });
      expect(misspelt.body.errors).toContainEqual({
        path: 'body.unheard_of',
        message: expect.any(String),
        code: 'unrecognized_keys',
      });
      expect(await readState(api.db)).toEqual(before);
    },
  );

  when(takesBody && endpoint.bodyName !== null && Object.keys(bodyOf()).length > 0)(
    'refuses a body field of the wrong type, and names it',
    async () => {
      for (const name of Object.keys(bodyOf())) {
        const answer = await send(ownKey(endpoint), {
          ...validRequest(endpoint, team),
          body: { ...bodyOf(), [name]: 1.5 },
        });
        expect(answer, name).toMatchObject({
          status: 422,
          body: { code: 'validation_error', errors: [{ path: `body.${name}` }] },
        });
      }
    },
  );

  when(takesBody).each(endpoint.pathParameters)(
    'does not let the body say what the path says: %s',
    async (name) => {
      const before = await readState(api.db);
      for (const value of [existingId(name, team), existingId(name, 'foreign'), null]) {
        const answer = await send(ownKey(endpoint), {
          ...validRequest(endpoint, team),
          body: { ...bodyOf(), [name]: value },
        });
        expect(answer).toMatchObject({
          status: 422,
          body: { code: 'validation_error', errors: [{ path: `body.${name}` }] },
        });
      }
      expect(await readState(api.db)).toEqual(before);
    },
  );

  when(!takesBody).each(endpoint.pathParameters)(
    'does not let the query say what the path says: %s',
    async (name) => {
      const { path } = requestOn(endpoint, team, () => 'unknown');
      expect(
        await api.call(
          ownKey(endpoint),
          endpoint.method,
          `${path}?${name}=${existingId(name, team)}`,
        ),
      ).toMatchObject({ status: 404 });
    },
  );

  when(endpoint.method !== 'POST')('answers a valid request as declared', async () => {
    expect(await send(ownKey(endpoint), validRequest(endpoint, team))).toMatchObject({
      status: endpoint.successStatus,
    });
  });
});

// The tests run in order on the same team. The first one sends the valid request.
describe.each(ENDPOINTS.filter(({ method }) => method === 'POST'))(
  '$method $path with an Idempotency-Key',
  (endpoint) => {
    const team = teamOf(endpoint);
    const headers = { 'idempotency-key': 'the same for every operation and team' };
    let first: ApiResponse;

    beforeAll(async () => {
      first = await send(ownKey(endpoint), validRequest(endpoint, team), { headers });
    });

    it('responds to a valid request as declared, with the URL of the new resource', async () => {
      expect(first).toMatchObject({ status: endpoint.successStatus });
      expect(first.headers['idempotency-replayed']).toBeUndefined();
      expect(first.headers['location']).toBe(
        endpoint.location === null
          ? undefined
          : `/api/public/v1${endpoint.location.replace('{id}', first.body.id)}`,
      );
    });

    it('repeats the first response to the same key and body, and acts only once', async () => {
      const before = await readState(api.db);
      const { method, path, body } = validRequest(endpoint, team);
      const reordered =
        body && JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()), null, 2);
      const again = await api.call(ownKey(endpoint), method, path, {
        headers,
        ...(reordered === undefined ? {} : { rawBody: reordered }),
      });
      expect(again).toMatchObject({
        status: first.status,
        text: first.text,
        headers: { 'idempotency-replayed': 'true' },
      });
      expect(again.headers['location']).toBe(first.headers['location']);
      expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
      expect(await readState(api.db)).toEqual(before);
    });

    it('is 422 idempotency_mismatch for the same key with another body or endpoint', async () => {
      const before = await readState(api.db);
      const request = validRequest(endpoint, team);
      const wanted = { status: 422, body: { code: 'idempotency_mismatch' } };
      const onAnother = ENDPOINTS.filter(
        (candidate) =>
          candidate.method === 'POST' &&
          candidate !== endpoint &&
          // A live key finds no path of a sandbox, so its Idempotency-Key is not looked at.
          (candidate.mode === null || endpoint.mode === 'test'),
      ).map((another) => validRequest(another, team));
      for (const misuse of [
        ...otherBodies(endpoint, request.body).map((body) => ({ ...request, body })),
        ...onAnother,
      ]) {
        expect(await send(ownKey(endpoint), misuse, { headers }), misuse.path).toMatchObject(
          wanted,
        );
      }
      expect(await readState(api.db)).toEqual(before);
    });
  },
);

/** Returns variants of the body, each with one optional field less. */
function otherBodies(
  endpoint: Endpoint,
  body: Record<string, unknown> | undefined,
): Record<string, unknown>[] {
  const bodies = Object.keys(body ?? {}).map((name) =>
    Object.fromEntries(Object.entries(body ?? {}).filter(([key]) => key !== name)),
  );
  const ids = Object.fromEntries(endpoint.pathParameters.map((name) => [name, 'x']));
  return bodies.filter((candidate) => endpoint.input.safeParse({ ...candidate, ...ids }).success);
}

describe('paths and methods', () => {
  const paths = [...new Set(ENDPOINTS.map((endpoint) => endpoint.path))];

  it.each(paths)(
    '%s answers 405 to every method that it has not, key or no key, and names those that it has',
    async (path) => {
      const declared = ENDPOINTS.filter((endpoint) => endpoint.path === path);
      const methods = declared.map((endpoint) => endpoint.method as string);
      const filled = path.replaceAll(/\{\w+\}/g, 'unknown');
      for (const method of [
        'GET',
        'HEAD',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'TRACE',
      ].filter((name) => !methods.includes(name))) {
        if (method === 'HEAD' && methods.includes('GET')) continue;
        const answer = await api.call(null, method, filled);
        expect(answer.status, method).toBe(405);
        expect(answer.body?.code, method).toBe(method === 'HEAD' ? undefined : 'bad_request');
        const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])];
        expect(answer.headers['allow']?.split(', ').toSorted(), method).toEqual(allowed.toSorted());
      }
    },
  );

  it.each([
    '',
    '/',
    '/userss',
    '/users/',
    '/users/a/b',
    '//users',
    '/Users',
    '/users%2fmem_1',
    '/me/',
    '/.',
    '/..%2f',
    '/openapi.json',
    '/users//',
  ])('answers 404 at %j, which is no path', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS'])
      expect(await api.call(null, method, path)).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
  });

  it('serves the OpenAPI document without a key', async () => {
    expect(await api.call(null, 'GET', '/openapi.v1.json')).toMatchObject({
      status: 200,
      body: { openapi: expect.stringMatching(/^3\.1/) },
    });
    expect(await api.call(null, 'HEAD', '/openapi.v1.json')).toMatchObject({
      status: 200,
      text: '',
    });
    const from = `${api.base}/openapi.v1.json`;
    const first = await fetch(from, { headers: { 'accept-encoding': 'br' } });
    const etag = first.headers.get('etag') ?? '';
    expect(Number(first.headers.get('content-length'))).toBeLessThan(60_000);
    expect(first.headers.get('content-encoding')).toBe('br');
    expect(await first.json()).toMatchObject({ paths: expect.anything() });
    for (const known of [etag, `"other", ${etag}`, '*']) {
      const again = await fetch(from, { headers: { 'if-none-match': known } });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
    const other = await fetch(from, { headers: { 'if-none-match': 'W/"other"' } });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag]);
    await other.body?.cancel();
    const plain = await fetch(from, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.json()).toMatchObject({ paths: expect.anything() });
    expect(await api.call(null, 'POST', '/openapi.v1.json')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  });
});
