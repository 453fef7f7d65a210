// What the client package decides by itself: when a call is repeated, how long it waits, and how
// pages follow each other. The network is replaced, and time is that of the test.
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ApiError,
  ConnectionError,
  createClient,
  verifyWebhook,
  WebhookVerificationError,
  type ClientOptions,
} from '../../src/client/index.ts';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Answer = Response | Error;

const json = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });
const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json(status, { status, code, title: code, request_id: 'r1', type: 'about:blank' }, headers);
const page = (headers: Record<string, string> = {}): Response =>
  new Response('<html>', { status: 502, headers });
const HUNG_UP = new TypeError('fetch failed');

/** A client whose calls get these answers, the last one from then on. */
function clientOf(answers: readonly Answer[], options: Partial<ClientOptions> = {}) {
  const sent: Request[] = [];
  const times: number[] = [];
  const client = createClient({
    apiKey: 'svck_live_x',
    baseUrl: 'https://team.example/api/public/v1/',
    fetch: async (request) => {
      times.push(Date.now());
      const answer = answers[Math.min(sent.push(request), answers.length) - 1];
      if (answer instanceof Response) return answer.clone();
      throw answer ?? HUNG_UP;
    },
    ...options,
  });
  const waits = () => times.slice(1).map((at, index) => at - (times[index] ?? 0));
  return { client, sent, waits };
}

/** Lets the waits of the call pass. Returns what it throws, or its result. */
async function settle<T>(call: Promise<T>): Promise<unknown> {
  const result = call.catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return result;
}

const INVITATION = { email: 'kim@example.com' };

describe('a parameter that the API ignores', () => {
  const answer = () => json(200, { data: [] }, { 'svc-ignored-parameters': 'limti, sicne' });

  it('is told once for each operation, whatever its values', async () => {
    const told: string[] = [];
    const { client } = clientOf([answer()], { warn: (message) => told.push(message) });
    const input = { limti: 5 } as object;
    await client.members.list(input);
    await client.members.list(input);
    await client.cases.list(input);
    expect(told).toEqual([
      'GET /users does not know the parameter limti and ignores it.',
      'GET /users does not know the parameter sicne and ignores it.',
      'GET /cases does not know the parameter limti and ignores it.',
      'GET /cases does not know the parameter sicne and ignores it.',
    ]);
  });

  it('is told on the console unless told otherwise', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { client } = clientOf([answer()]);
    await client.members.list();
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });
});

describe('a call', () => {
  it('sends its input as path, query or body', async () => {
    const { client, sent } = clientOf([json(200, { ok: true })]);
    await client.members.list({ limit: 5 });
    await client.assignments.update({ assignment_id: 'a/b ?', note: null });
    await client.assignments.update({ assignment_id: 'a' });
    await client.webhooks.testEndpoint({ endpoint_id: 'whe_1' });
    await client.cases.remove({ case_id: 'cas_1' });
    const seen = await Promise.all(
      sent.map(async (one) => `${one.method} ${one.url.slice(34)} ${await one.text()}`),
    );
    expect(seen).toEqual([
      'GET /users?limit=5 ',
      'PATCH /assignments/a%2Fb%20%3F {"note":null}',
      'PATCH /assignments/a {}',
      'POST /webhook-endpoints/whe_1/test ',
      'DELETE /cases/cas_1 ',
    ]);
    const [first] = sent;
    expect(first?.headers.get('authorization')).toBe('Bearer svck_live_x');
    expect(first?.headers.get('accept-language')).toBe('en');
    expect(first?.headers.has('idempotency-key')).toBe(false);
  });

  it('is refused without what its path needs: it would be another operation', () => {
    const { client, sent } = clientOf([json(200, {})]);
    for (const case_id of ['', '.', '..'])
      expect(() => client.cases.remove({ case_id })).toThrow(new TypeError('case_id is missing.'));
    expect(sent).toEqual([]);
  });

  it('throws the problem of the API by its code', async () => {
    const { client, sent } = clientOf([problem(409, 'seat_limit_reached')]);
    const error = await settle(client.members.create(INVITATION));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 409, code: 'seat_limit_reached', requestId: 'r1' });
    expect(sent).toHaveLength(1);
  });

  it('names the fields at fault and the request in the text of the error', async () => {
    const textOf = async (body: object) => {
      const { client } = clientOf([
        json(422, { status: 422, code: 'c', title: 'T', request_id: 'r9', ...body }),
      ]);
      return ((await settle(client.members.create(INVITATION))) as Error).message;
    };
    const errors = [
      { path: 'body.email', message: 'Not an address', code: 'invalid_format' },
      { path: 'body.role', message: 'Unknown', code: 'invalid_value' },
    ];
    expect(await textOf({ errors, detail: 'Two faults', request_id: 'r7' })).toBe(
      '422 c: body.email: Not an address; body.role: Unknown (request r7)',
    );
    expect(await textOf({ errors, more_errors: true })).toMatch(/: Unknown; … \(request r9\)$/);
    expect(await textOf({ field: 'user_id', detail: 'None', request_id: 'r8' })).toBe(
      '422 c: user_id: None (request r8)',
    );
    expect(await textOf({})).toBe('422 c: T (request r9)');
  });

  it('has the headers of the response in its error', async () => {
    const { client } = clientOf([problem(422, 'validation_error', { 'x-request-id': 'r1' })]);
    const error = (await settle(client.me.get())) as ApiError;
    expect(error.headers.get('x-request-id')).toBe('r1');
  });

  it('throws what is no response of the API, and keeps the cause', async () => {
    const { client } = clientOf([HUNG_UP], { maxRetries: 0 });
    const error = await settle(client.me.get());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ cause: HUNG_UP });
    const gateway = clientOf([page()], { maxRetries: 0 });
    expect(await settle(gateway.client.me.get())).toBeInstanceOf(ConnectionError);
  });

  it.each([
    ['no response', HUNG_UP],
    ['a page', page()],
  ])('keeps the filters of a list out of the texts of errors: %s', async (_name, answer) => {
    const told: string[] = [];
    const { client } = clientOf([answer], { onRetry: ({ error }) => told.push(error.message) });
    const error = await settle(client.members.list({ email: INVITATION.email }));
    told.push((error as Error).message);
    expect(told).toHaveLength(5);
    for (const text of told) {
      expect(text).toContain(' GET https://team.example/api/public/v1/users ');
      expect(text).not.toContain('kim');
    }
  });

  const OURS = { status: 503, code: 'unavailable', title: 'T', request_id: 'r1' };
  it.each([
    ['Envoy', { code: 503, message: 'upstream connect error' }],
    ['Kubernetes', { kind: 'Status', status: 'Failure', reason: 'ServiceUnavailable', code: 503 }],
    ['a text as code', { code: 'GATEWAY_TIMEOUT', message: 'x' }],
    ['another status', { ...OURS, status: 500 }],
    ['no request', { ...OURS, request_id: undefined }],
    ['errors that are null', { ...OURS, errors: null }],
    ['errors that are texts', { ...OURS, errors: ['a'] }],
    ['a list', [OURS]],
  ])('takes the JSON of a gateway for no problem of the API: %s', async (_name, body) => {
    const { client, sent } = clientOf([json(503, body)]);
    const error = await settle(client.me.get());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      status: 503,
      message: expect.stringMatching(/ is none of the API; its status is 503\.$/),
    });
    expect(sent).toHaveLength(5);
  });
});

describe('a client', () => {
  it.each([
    ['svck_live_0_1', 'live'],
    ['svck_test_t0_1', 'test'],
  ])('says by the word of its key which team it opens', (apiKey, mode) => {
    expect(clientOf([], { apiKey }).client.mode).toBe(mode);
  });
});

describe('a wrong key', () => {
  it.each([
    ['none', undefined],
    ['an empty text', ''],
    ['a line break in it', 'svck_live_x_SECRET\nOTHER=1'],
    ['a line break behind it', 'svck_live_x_SECRET\n'],
    ['quotes of a text program', '“svck_live_x_SECRET”'],
    ['a space', 'svck_live_x SECRET'],
  ])('throws at once, and is not shown: %s', (_name, apiKey) => {
    const make = () => clientOf([], { apiKey: apiKey as string });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(
      /^apiKey (is missing\.|has a space, a line break or another character .*)$/,
    );
    expect(make).not.toThrow('SECRET');
  });
});

describe('a wrong idempotencyKey', () => {
  it.each(['', 'order-5€', 'order\n5', ' order-5', 'order-5 ', 'x'.repeat(101)])(
    'throws at once, and nothing is sent: %j',
    async (idempotencyKey) => {
      const onRetry = vi.fn<() => void>();
      const { client, sent } = clientOf([json(201, {})], { onRetry });
      const create = async () => client.members.create(INVITATION, { idempotencyKey });
      expect(await settle(create())).toEqual(
        new TypeError('idempotencyKey must have 1 to 100 characters of ASCII.'),
      );
      expect(sent).toEqual([]);
      expect(onRetry).not.toHaveBeenCalled();
    },
  );

  it('is none of 100 characters, with spaces between them', async () => {
    const { client, sent } = clientOf([json(201, {})]);
    const idempotencyKey = `order ${'5'.repeat(94)}`;
    await client.members.create(INVITATION, { idempotencyKey });
    expect(sent[0]?.headers.get('idempotency-key')).toBe(idempotencyKey);
  });
});

describe('what makes no request', () => {
  it('is thrown as it is, without another attempt', async () => {
    const onRetry = vi.fn<() => void>();
    const { client, sent } = clientOf([json(200, {})], { language: 'd\ne' as 'de', onRetry });
    expect(await settle(client.me.get())).toBeInstanceOf(TypeError);
    expect(sent).toEqual([]);
    expect(onRetry).not.toHaveBeenCalled();
  });
});

describe('a timeoutMs', () => {
  it.each([NaN, -1])('of %s makes no request', async (timeoutMs) => {
    const { client, sent } = clientOf([json(200, {})], { timeoutMs });
    expect(await settle(client.me.get())).toBeInstanceOf(RangeError);
    expect(sent).toEqual([]);
  });

  it('may be longer than a timer of the system', async () => {
    const { client } = clientOf([json(200, { ok: true })], { timeoutMs: Infinity });
    expect(await settle(client.me.get())).toEqual({ ok: true });
  });
});

describe('a wrong base URL', () => {
  it.each([
    '',
    'api.example.com/api/public/v1',
    'localhost:3000/api/public/v1',
    'ftp://api.example.com',
    'https://api.example.com/v1?a=1',
    'https://api.example.com/v1#a',
  ])('throws at once, with the URL: %s', (baseUrl) => {
    expect(() => clientOf([], { baseUrl })).toThrow(TypeError);
    expect(() => clientOf([], { baseUrl })).toThrow(`not: ${baseUrl}`);
  });

  it('shows no password', () => {
    const make = () => clientOf([], { baseUrl: 'https://kim:secret@api.example.com/v1' });
    expect(make).toThrow('baseUrl must not have a user or a password (api.example.com).');
  });

  it.each([
    'https://kim:sec/ret@api.example.com',
    'kim:secret@api.example.com/v1',
    'ftp://kim:secret@api.example.com',
    'https://api.example.com/v1?to=kim:secret@x',
  ])('shows nothing of what may have a password: %s', (baseUrl) => {
    const message = /^baseUrl must be an http or https URL such as [^@]+$/;
    expect(() => clientOf([], { baseUrl })).toThrow(message);
    expect(() => clientOf([], { baseUrl })).not.toThrow(/kim|sec|ret/);
  });

  it.each([
    ['a page with 404', 404, 1],
    ['a redirect', 301, 1],
    ['a page with 200, once again', 200, 2],
    ['null with 200, once again', 200, 2, 'null'],
    ['a list with 200, once again', 200, 2, '[]'],
    ['a text with 200, once again', 200, 2, '"login"'],
  ])('that gets %s says so, with the URL', async (_name, status, attempts, text = '<html>') => {
    const { client, sent } = clientOf([new Response(text, { status })]);
    const error = await settle(client.me.get());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      status,
      message:
        `The response of GET https://team.example/api/public/v1/me is none of the API; its ` +
        `status is ${status}. Is the base URL right? Most end with /api/public/v1.`,
    });
    expect(sent).toHaveLength(attempts);
  });

  it('whose host does not exist says so after one more attempt', async () => {
    const cause = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    const { client, sent } = clientOf([new TypeError('fetch failed', { cause })]);
    expect(await settle(client.me.get())).toMatchObject({
      message: 'No response of GET https://team.example/api/public/v1/me (ENOTFOUND).',
    });
    expect(sent).toHaveLength(2);
  });
});

describe('a hook', () => {
  it('is told of each response, with its headers, and of each repetition', async () => {
    const limited = problem(429, 'rate_limited', { 'retry-after': '3' });
    const seen: unknown[] = [];
    const { client } = clientOf([limited, json(200, {}, { 'x-request-id': 'r2' })], {
      onRetry: ({ operation, error, attempt, waitMs }) =>
        seen.push([operation, error.message, attempt, Math.floor(waitMs / 1000)]),
      onResponse: ({ status, attempt }) => seen.push([status, attempt]),
    });
    const ids: unknown[] = [];
    const onResponse = ({ headers }: { readonly headers: Headers }) =>
      ids.push(headers.get('x-request-id'));
    await settle(client.members.get({ member_id: 'mem_1' }, { onResponse }));
    expect(seen).toEqual([
      [429, 1],
      ['GET /users/{member_id}', '429 rate_limited: rate_limited (request r1)', 2, 3],
      [200, 2],
    ]);
    expect(ids).toEqual([null, 'r2']);
  });

  it('is told once of each operation that will end', async () => {
    const ending = json(
      200,
      { data: [] },
      {
        deprecation: '@1798761600',
        sunset: 'Sat, 01 Jan 2028 00:00:00 GMT',
        link: '<https://api.example.com/docs>; rel="deprecation"; type="text/html"',
      },
    );
    const seen: unknown[] = [];
    const { client } = clientOf([ending], { onDeprecation: (one) => seen.push(one) });
    await client.members.list();
    await client.members.list();
    await client.cases.list();
    const dates = {
      since: new Date('2027-01-01T00:00:00Z'),
      sunset: new Date('2028-01-01T00:00:00Z'),
      link: 'https://api.example.com/docs',
    };
    expect(seen).toEqual([
      { operation: 'GET /users', ...dates },
      { operation: 'GET /cases', ...dates },
    ]);
    const odd = clientOf([json(200, {}, { deprecation: 'true', sunset: 'soon' })], {
      onDeprecation: (one) => seen.push(one),
    });
    await odd.client.me.get();
    expect(seen[2]).toEqual({ operation: 'GET /me', since: null, sunset: null, link: null });
  });

  it('ends the call with its error, and no attempt follows', async () => {
    const onResponse = () => {
      throw new Error('of the hook');
    };
    const { client, sent } = clientOf([json(200, {})], { onResponse });
    expect(await settle(client.me.get())).toEqual(new Error('of the hook'));
    expect(sent).toHaveLength(1);
  });
});

describe('a budget', () => {
  it('of all calls ends their repetitions in an outage, and successes refill it', async () => {
    const answers: Answer[] = [HUNG_UP];
    const { client, sent } = clientOf(answers, { retryBudget: 6 });
    for (let n = 0; n < 3; n += 1) await settle(client.me.get());
    // 1 + 4, 1 + 2, 1
    expect(sent).toHaveLength(9);
    answers[0] = json(200, {});
    for (let n = 0; n < 10; n += 1) await settle(client.me.get());
    answers[0] = HUNG_UP;
    await settle(client.me.get());
    expect(sent).toHaveLength(21);
  });

  it.each([
    ['429', problem(429, 'rate_limited', { 'retry-after': '1' })],
    ['408', problem(408, 'bad_request')],
  ])('is not spent by a %s, which is no outage', async (_, answer) => {
    const { client, sent } = clientOf([answer], { retryBudget: 0 });
    await settle(client.me.get());
    expect(sent).toHaveLength(5);
  });

  it('of time begins no wait that would last longer', async () => {
    const limited = problem(429, 'rate_limited', { 'retry-after': '20' });
    const { client, sent, waits } = clientOf([limited], { totalTimeoutMs: 50_000 });
    expect(await settle(client.me.get())).toMatchObject({ code: 'rate_limited' });
    expect(sent).toHaveLength(3);
    expect(waits().reduce((sum, ms) => sum + ms, 0)).toBeLessThan(50_000);
  });

  it('of time is used, and not exceeded, by the waits after a 503, which grow', async () => {
    const busy = problem(503, 'unavailable', { 'retry-after': '2' });
    const { client, sent, waits } = clientOf([busy], { totalTimeoutMs: 10_000 });
    expect(await settle(client.me.get())).toMatchObject({ code: 'unavailable' });
    // After two and four seconds it is two again: eight would be too long.
    expect(sent).toHaveLength(4);
    expect(waits().reduce((sum, ms) => sum + ms, 0)).toBeLessThan(10_000);
  });
});

describe('a repetition', () => {
  it('of a POST has the same Idempotency-Key, and the next action another', async () => {
    const { client, sent } = clientOf([HUNG_UP, problem(503, 'unavailable'), json(201, {})]);
    await settle(client.members.create(INVITATION));
    await settle(client.members.create(INVITATION));
    const keys = sent.map((request) => request.headers.get('idempotency-key'));
    expect(keys).toHaveLength(4);
    expect(keys.every((key) => key !== null && key.length === 36)).toBe(true);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(keys[3]).not.toBe(keys[0]);
    const bodies = await Promise.all(sent.map((request) => request.text()));
    expect(new Set(bodies)).toEqual(new Set([JSON.stringify(INVITATION)]));
  });

  it('of an action that the caller names has its key', async () => {
    const { client, sent } = clientOf([json(201, {})]);
    await client.members.create(INVITATION, { idempotencyKey: 'job-7' });
    expect(sent[0]?.headers.get('idempotency-key')).toBe('job-7');
  });

  it('waits as long as Retry-After says', async () => {
    const limited = problem(429, 'rate_limited', { 'retry-after': '17' });
    const { client, waits } = clientOf([limited, json(200, {})]);
    expect(await settle(client.me.get())).toEqual({});
    expect(waits()).toHaveLength(1);
    expect(waits()[0]).toBeGreaterThanOrEqual(17_000);
    expect(waits()[0]).toBeLessThan(18_000);
  });

  it('understands a date in Retry-After', async () => {
    vi.setSystemTime(new Date('2026-11-20T10:00:00Z'));
    const at = 'Fri, 20 Nov 2026 10:00:30 GMT';
    const { client, waits } = clientOf([
      problem(503, 'unavailable', { 'retry-after': at }),
      json(200, {}),
    ]);
    await settle(client.me.get());
    expect(waits()[0]).toBeGreaterThanOrEqual(30_000);
    expect(waits()[0]).toBeLessThan(31_000);
  });

  it.each([
    ['a date that has passed', 'Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['a date of the old form', 'Friday, 20-Nov-26 10:00:00 GMT', 0],
    ['no date and no number', 'soon', 250],
    ['a fraction', '1.5', 250],
    ['two numbers', '10, 10', 250],
    ['a number below zero', '-1', 250],
    ['a date of another form', '2026-11-20T11:00:00Z', 250],
    ['a date that is too far', 'Fri, 20 Nov 2026 10:01:01 GMT', null],
  ])('with %s in Retry-After', async (_name, at, leastMs) => {
    vi.setSystemTime(new Date('2026-11-20T10:00:00Z'));
    const limited = problem(429, 'rate_limited', { 'retry-after': at });
    const { client, waits } = clientOf([limited, json(200, {})]);
    await settle(client.me.get());
    expect(waits()).toHaveLength(leastMs === null ? 0 : 1);
    for (const ms of waits()) {
      expect(ms).toBeGreaterThanOrEqual(leastMs ?? 0);
      expect(ms).toBeLessThan(1_000);
    }
  });

  it.each([
    ['a 503', problem(503, 'unavailable', { 'retry-after': '2' }), [2, 4, 8, 16]],
    ['a 503 that says a little more', problem(503, 'x', { 'retry-after': '5' }), [5, 10, 16, 16]],
    ['a 503 that says much', problem(503, 'x', { 'retry-after': '30' }), [30, 30, 30, 30]],
    ['a 503 of a gateway', json(503, {}, { 'retry-after': '2' }), [2, 4, 8, 16]],
    ['a 502 of a gateway', page({ 'retry-after': '2' }), [2, 2, 2, 2]],
    ['a 429', problem(429, 'rate_limited', { 'retry-after': '2' }), [2, 2, 2, 2]],
    ['a 409', problem(409, 'conflict', { 'retry-after': '2' }), [2, 2, 2, 2]],
  ])('waits from what Retry-After says: %s', async (_name, answer, seconds) => {
    const { client, waits } = clientOf([answer]);
    await settle(client.me.get());
    expect(waits()).toHaveLength(4);
    for (const [index, ms] of waits().entries()) {
      const least = (seconds[index] ?? NaN) * 1000;
      expect(ms).toBeGreaterThanOrEqual(least);
      expect(ms).toBeLessThanOrEqual(least + 1_000);
    }
  });

  it('after a first 503 waits as it says, whatever failed before', async () => {
    const busy = problem(503, 'unavailable', { 'retry-after': '2' });
    const limited = problem(429, 'rate_limited', { 'retry-after': '1' });
    const { client, waits } = clientOf([limited, HUNG_UP, busy]);
    await settle(client.me.get());
    expect(waits().map((ms) => Math.floor(ms / 1000))).toEqual([1, 0, 2, 4]);
  });

  it('waits longer each time without it, and ends', async () => {
    const { client, sent, waits } = clientOf([problem(503, 'unavailable')]);
    expect(await settle(client.me.get())).toMatchObject({ code: 'unavailable' });
    expect(sent).toHaveLength(5);
    for (const [index, ms] of waits().entries()) {
      expect(ms).toBeGreaterThanOrEqual(250 * 2 ** index);
      expect(ms).toBeLessThanOrEqual(500 * 2 ** index);
    }
  });

  it.each([
    ['429 for a minute', problem(429, 'rate_limited', { 'retry-after': '60' }), 5],
    ['429 for longer', problem(429, 'rate_limited', { 'retry-after': '61' }), 1],
    ['503 for longer', problem(503, 'unavailable', { 'retry-after': '61' }), 1],
    ['503 for ages', problem(503, 'unavailable', { 'retry-after': '1'.repeat(400) }), 1],
    ['a page of a gateway, for longer', page({ 'retry-after': '61' }), 1],
    ['409 without Retry-After', problem(409, 'conflict'), 1],
    ['409 of a running call', problem(409, 'conflict', { 'retry-after': '1' }), 5],
    ['422', problem(422, 'validation_error'), 1],
    ['408', problem(408, 'bad_request'), 5],
    ['417', problem(417, 'bad_request'), 1],
    ['401', problem(401, 'unauthorized'), 1],
    ['500, once', problem(500, 'internal'), 2],
    ['503', problem(503, 'unavailable'), 5],
    ['a page of a gateway', page(), 5],
  ])('after %s', async (_name, answer, attempts) => {
    const { client, sent } = clientOf([answer]);
    await settle(client.members.create(INVITATION));
    expect(sent).toHaveLength(attempts);
  });

  const WORKED = { ok: true };
  const GONE = { code: 'not_found' };
  it.each([
    ['no response', [HUNG_UP], WORKED],
    ['the page of a gateway', [page()], WORKED],
    ['a 500', [problem(500, 'internal')], WORKED],
    ['a 503', [problem(503, 'unavailable')], WORKED],
    ['a 429', [problem(429, 'rate_limited', { 'retry-after': '1' })], GONE],
    ['a call that still runs', [problem(409, 'conflict', { 'retry-after': '1' })], GONE],
    // The known outcome of an attempt in between says nothing about the first one.
    ['no response and a 429', [HUNG_UP, problem(429, 'rate_limited')], WORKED],
  ])('of a DELETE that finds nothing after %s', async (_name, before, outcome) => {
    const { client } = clientOf([...before, problem(404, 'not_found')]);
    expect(await settle(client.cases.remove({ case_id: 'cas_1' }))).toMatchObject(outcome);
  });

  it('ends with the signal of the caller, also in a wait', async () => {
    const { client, sent } = clientOf([problem(503, 'unavailable', { 'retry-after': '50' })]);
    const ended = new AbortController();
    const call = client.me.get({}, { signal: ended.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_000);
    ended.abort(new Error('enough'));
    expect(await call).toEqual(new Error('enough'));
    expect(sent).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves nothing on the signal of the caller', async () => {
    const { client } = clientOf([problem(503, 'unavailable'), json(200, {})]);
    const { signal } = new AbortController();
    for (let n = 0; n < 20; n += 1) await settle(client.me.get({}, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    // Where Node keeps the signals of `AbortSignal.any`.
    const kept = Object.getOwnPropertySymbols(signal)
      .filter(({ description }) => description === 'kDependantSignals')
      .map((symbol) => Object.getOwnPropertyDescriptor(signal, symbol)?.value as Set<unknown>);
    expect(kept.reduce((sum, set) => sum + (set?.size ?? 0), 0)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('follows an attempt that gets no answer in time, or half of one', async () => {
    const half = (signal: AbortSignal) =>
      new ReadableStream({
        start: (body) => {
          body.enqueue(new TextEncoder().encode('{"data":'));
          signal.addEventListener('abort', () => body.error(signal.reason));
        },
      });
    let attempts = 0;
    const { client } = clientOf([], {
      maxRetries: 1,
      timeoutMs: 5_000,
      fetch: ({ signal }) => {
        attempts += 1;
        if (attempts === 2) return Promise.resolve(new Response(half(signal)));
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    });
    const began = Date.now();
    expect(await settle(client.me.get())).toMatchObject({
      name: 'ConnectionError',
      message: 'No response of GET https://team.example/api/public/v1/me (no answer).',
    });
    expect(attempts).toBe(2);
    expect(Date.now()).toBeGreaterThanOrEqual(began + 10_000);
    expect(Date.now()).toBeLessThan(began + 11_000);
  });

  it('ends with the signal of the caller, also in the last attempt', async () => {
    const ended = new AbortController();
    const { client } = clientOf([], {
      maxRetries: 0,
      fetch: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(HUNG_UP));
        }),
    });
    const call = client.me.get({}, { signal: ended.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_000);
    ended.abort(new Error('enough'));
    expect(await call).toEqual(new Error('enough'));
  });
});

describe('a list', () => {
  const PAGES = [
    json(200, { data: [{ id: 'a' }, { id: 'b' }], next_cursor: 'c1' }),
    json(200, { data: [], next_cursor: 'c2' }),
    json(200, { data: [{ id: 'c' }], next_cursor: null }),
  ];

  it('gives the entries of all pages, and reads a page when it is needed', async () => {
    const { client, sent } = clientOf(PAGES);
    const seen: [string, number][] = [];
    for await (const { id } of client.members.list({ limit: 2 })) seen.push([id, sent.length]);
    expect(seen).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 3],
    ]);
    expect(sent.map(({ url }) => new URL(url).search)).toEqual([
      '?limit=2',
      '?limit=2&cursor=c1',
      '?limit=2&cursor=c2',
    ]);
  });

  it('is one page when it is awaited', async () => {
    const { client, sent } = clientOf(PAGES);
    expect((await client.members.list()).next_cursor).toBe('c1');
    expect(sent).toHaveLength(1);
  });

  it('throws in the loop what a later page throws', async () => {
    const { client } = clientOf([PAGES[0] ?? HUNG_UP, problem(401, 'unauthorized')]);
    const ids: string[] = [];
    const read = async () => {
      for await (const { id } of client.members.list()) ids.push(id);
    };
    await expect(read()).rejects.toMatchObject({ code: 'unauthorized' });
    expect(ids).toEqual(['a', 'b']);
  });
});

describe('verifyWebhook with Web Crypto', () => {
  const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';
  const BODY = JSON.stringify(eventExample('member.joined'));
  const NOW = new Date('2026-11-20T10:00:00Z');
  const headersBy = (...secrets: string[]) =>
    deliveryHeaders(BODY, { keys: secrets.map(signingKeyOf), eventId: 'evt_01', at: NOW });
  const verify = (body: string | Uint8Array, headers: Record<string, string>, ageS = 0) =>
    verifyWebhook(body, headers, SECRET, { now: new Date(NOW.getTime() + ageS * 1000) }).then(
      (event) => event.type,
      (error: unknown) => (error instanceof WebhookVerificationError ? error.reason : error),
    );

  it('accepts genuine deliveries, as text or bytes, and during a rotation', async () => {
    expect(await verify(BODY, headersBy(SECRET))).toBe('member.joined');
    expect(await verify(new TextEncoder().encode(BODY), headersBy(SECRET))).toBe('member.joined');
    expect(await verify(BODY, headersBy('whsec_new', SECRET))).toBe('member.joined');
  });

  it('refuses forged, changed, old and unsigned ones', async () => {
    expect(await verify(BODY, headersBy('whsec_forged'))).toBe('signature_mismatch');
    expect(await verify(`${BODY} `, headersBy(SECRET))).toBe('signature_mismatch');
    expect(await verify(BODY, headersBy(SECRET), 300)).toBe('member.joined');
    expect(await verify(BODY, headersBy(SECRET), 301)).toBe('timestamp_too_old');
    expect(await verify(BODY, headersBy(SECRET), -301)).toBe('timestamp_in_future');
    expect(await verify(BODY, {})).toBe('signature_missing');
    const wrongCall = verifyWebhook(BODY, headersBy(''), '');
    await expect(wrongCall).rejects.toBeInstanceOf(TypeError);
  });
});
