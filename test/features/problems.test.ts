// What an error says about its place, in both APIs.
import { beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, appAsMember, appAsPlatform } from '../support/app.ts';
import { problemOf } from '../support/problems.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  const rights = { privacy: { member_detail_enabled: true } };
  api = await startTestApi({ seed: makeSeed([makeTeam('a', rights), makeTeam('b', rights)]) });
});

const ASSIGNMENT = {
  title: 'x',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

describe('not_found names the field of an id in the body', () => {
  test.each([
    ['/assignments', 'member_id', { ...ASSIGNMENT, member_id: 'mem_b_member' }],
    ['/assignments', 'member_id', { ...ASSIGNMENT, member_id: 'mem_unknown' }],
    ['/cases', 'user_id', { user_id: 'usr_b_member' }],
    ['/cases', 'user_id', { user_id: 'usr_unknown' }],
  ])('POST %s: %s, alike for another team’s id and an unknown one', async (path, field, body) => {
    const refused = await api.call(api.key('team_a'), 'POST', path, { body });
    expect(refused.body).toEqual({
      type: `${api.url}/docs/errors#not_found`,
      title: 'Nicht gefunden',
      status: 404,
      code: 'not_found',
      request_id: refused.headers['x-request-id'],
      field,
      detail: expect.stringMatching(
        `^${field} is no active (or invited )?member of the team. Check`,
      ),
    });
  });

  test('and of an id in the path nothing, for the path has only one', async () => {
    const refused = await api.call(api.key('team_a'), 'GET', '/assignments/asg_unknown');
    expect(refused).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(refused.body).not.toHaveProperty('field');
  });

  test('over tRPC, where every id is in the input', async () => {
    const app = await appAsMember(api, 'a', 'owner');
    const { platform } = await appAsPlatform(api);
    const training = { training_id: 'tr_1', created_at: '2026-11-01T00:00:00Z' };
    const start = (team_id: string) =>
      platform.trainings.start.mutate({ team_id, user_id: 'usr_x', ...training });
    const assigned = { ...ASSIGNMENT, member_id: 'mem_b_member' };
    const calls: [field: string, call: () => Promise<unknown>][] = [
      ['member_id', () => app.v1.assignments.create.mutate(assigned)],
      ['assignment_id', () => app.v1.assignments.get.query({ assignment_id: 'asg_unknown' })],
      ['case_id', () => app.v1.cases.remove.mutate({ case_id: 'cas_unknown' })],
      ['key_id', () => app.admin.apiKeys.get.query({ key_id: 'key_unknown' })],
      ['member_id', () => app.admin.invitations.withdraw.mutate({ member_id: 'mem_unknown' })],
      ['user_id', () => start('team_a')],
      ['team_id', () => start('team_x')],
    ];
    for (const [field, call] of calls)
      expect(await problemOf(call())).toMatchObject({ code: 'not_found', field });
  });
});

describe('unauthorized says in detail', () => {
  const refusalOf = async (authorization?: string | string[]): Promise<string> => {
    const headers = authorization === undefined ? {} : { authorization };
    const { status, body } = await api.call(null, 'GET', '/me', { headers });
    expect(status).toBe(401);
    return body.detail;
  };

  test('whether the key is missing or malformed, and of others always the same', async () => {
    expect(await refusalOf()).toMatch(/^The API key is missing/);
    for (const malformed of ['Bearer x', 'Basic dTpw', 'Bearer', `Token ${api.key('team_a')}`])
      expect(await refusalOf(malformed)).toMatch(/^The API key is malformed/);
    const right = api.key('team_a');
    const prefix = right.slice(0, right.lastIndexOf('_') + 1);
    const others = [
      await refusalOf(`Bearer ${prefix}${'0'.repeat(64)}`),
      await refusalOf(`Bearer svck_live_0000000000000000_${'0'.repeat(64)}`),
    ];
    expect(new Set(others)).toEqual(
      new Set(['The API key is not valid, or not from this address.']),
    );
  });

  test('over tRPC whether the token is missing or malformed', async () => {
    const detailOf = async (token: string | null): Promise<unknown> =>
      (await problemOf(appAs(api, token).v1.me.get.query({})))['detail'];
    expect(await detailOf(null)).toMatch(/^There is no token/);
    expect(await detailOf(api.key('team_a'))).toMatch(/^The token is malformed/);
    expect(await detailOf('a.b.c')).toMatch(/^The token is not valid/);
  });
});

describe('detail says what to do', () => {
  const refusal = async (method: string, path: string, options: object = {}) =>
    (await api.call(api.key('team_a'), method, path, options)).body;

  test.each<[code: string, method: string, path: string, body: object | undefined, said: RegExp]>([
    ['not_found', 'GET', '/users/mem_unknown', undefined, /nothing with this member_id.*lists/],
    ['not_found', 'GET', '/user', undefined, /no such path.*\/api\/public\/v1/],
    ['owner', 'PATCH', '/users/mem_a_owner', { role: 'member' }, /role stays.*transferred/],
    ['owner', 'DELETE', '/users/mem_a_owner', undefined, /cannot be removed.*transferred/],
    ['last_admin', 'DELETE', '/users/mem_a_admin', undefined, /only active admin.*another/],
    ['seat_limit_reached', 'POST', '/users', { email: 'x@x.test' }, /all seats.*book more/],
  ])('%s: %s %s', async (code, method, path, body, said) => {
    await api.db.pool.query(`update team set seats = 1 where id = 'team_a'`);
    expect(await refusal(method, path, { body })).toMatchObject({
      code,
      detail: expect.stringMatching(said),
    });
  });

  test('idempotency_mismatch, and a replayed refusal again', async () => {
    const headers = { 'idempotency-key': 'one' };
    const post = (user_id: string) => refusal('POST', '/cases', { headers, body: { user_id } });
    const first = await post('usr_unknown');
    expect(first.detail).toMatch(/user_id is no active member/);
    expect((await post('usr_unknown')).detail).toBe(first.detail);
    expect(await post('usr_a_member')).toMatchObject({
      code: 'idempotency_mismatch',
      detail: expect.stringMatching(/within 24 hours.*Generate a new key/),
    });
  });

  test('privacy_restricted', async () => {
    const open = await startTestApi({
      seed: makeSeed([makeTeam('a', { privacy: { member_detail_enabled: false } })]),
    });
    const { body } = await open.call(open.key('team_a'), 'GET', '/trainings');
    expect(body).toMatchObject({
      code: 'privacy_restricted',
      detail: expect.stringMatching(/member_detail_enabled.*GET \/analytics\/team/),
    });
  });

  test('a date-time without an offset, and one whose + was lost in the query', async () => {
    for (const since of ['2026-11-01T00:00:00', '2026-11-01T00:00:00+01:00'])
      expect(await refusal('GET', `/trainings?since=${since}`)).toMatchObject({
        field: 'since',
        detail: expect.stringMatching(/with an offset, such as .*\+ as %2B/),
      });
    const encoded = await api.call(
      api.key('team_a'),
      'GET',
      '/trainings?since=2026-11-01T00:00:00%2B01:00',
    );
    expect(encoded.status).toBe(200);
  });

  test('JSON that cannot be parsed, with line and column', async () => {
    const refused = await refusal('POST', '/cases', { rawBody: '{\n  "user_id": usr\n}' });
    const detail = 'The body is not valid JSON: the fault is at line 2, column 14.';
    expect(refused).toMatchObject({
      detail,
      errors: [{ path: 'body', code: 'invalid_json', message: detail }],
    });
  });

  test('unknown types of events, with the list of them', async () => {
    const body = { url: 'https://1.1.1.1/', events: ['training.complete'] };
    expect((await refusal('POST', '/webhook-endpoints', { body })).detail).toMatch(
      /type: training\.complete\. There are: .*training\.completed/,
    );
  });
});

describe('errors lists every value that rules refuse', () => {
  const WRONG = { url: 'ftp://a.test/', events: ['nonsense'] };
  const placesOf = async (method: string, path: string, body: object) => {
    const refused = await api.call(api.key('team_a'), method, path, { body });
    expect(refused.status).toBe(422);
    const { errors } = refused.body as { errors: { path: string }[] };
    return errors.map((error) => error.path);
  };

  test('of a new webhook endpoint and of a change of one', async () => {
    expect(await placesOf('POST', '/webhook-endpoints', WRONG)).toEqual([
      'body.events',
      'body.url',
    ]);
    const change = { ...WRONG, status: 'off' };
    expect(await placesOf('PATCH', '/webhook-endpoints/whe_unknown', change)).toEqual([
      'body.status',
      'body.events',
      'body.url',
    ]);
  });

  test('of a case', async () => {
    const large = { text: 'x'.repeat(70_000) };
    const body = { user_id: 'usr_a_member', fields: large, external_ref: large };
    expect(await placesOf('POST', '/cases', body)).toEqual(['body.fields', 'body.external_ref']);
  });
});

describe('validation_error has one form', () => {
  test.each([
    [
      'a schema refuses',
      'GET',
      '/trainings?since=yesterday',
      undefined,
      { path: 'query.since', code: 'invalid_format' },
    ],
    [
      'cannot be decoded',
      'GET',
      '/users?limit=%E4',
      undefined,
      { path: 'query.limit', code: 'invalid_encoding' },
    ],
    [
      'has a name that cannot be decoded',
      'GET',
      '/users?%E4=1',
      undefined,
      { path: 'query.%E4', code: 'invalid_encoding' },
    ],
    [
      'a rule refuses',
      'POST',
      '/webhook-endpoints',
      { url: 'https://1.1.1.1/', events: [] },
      { path: 'body.events', code: 'refused' },
    ],
    [
      'a list did not issue',
      'GET',
      '/users?cursor=x',
      undefined,
      { path: 'query.cursor', code: 'invalid_cursor' },
    ],
    [
      'is unknown',
      'POST',
      '/cases',
      { user_id: 'usr_a_member', titel: 'x' },
      { path: 'body.titel', code: 'unrecognized_keys' },
    ],
  ])('for a single field that %s', async (_what, method, path, body, expected) => {
    const refused = await api.call(api.key('team_a'), method, path, { body });
    expect(refused.status).toBe(422);
    const { errors, field, detail } = refused.body;
    expect(errors).toEqual([{ ...expected, message: detail }]);
    expect(field).toBe(expected.path.split('.')[1]);
  });

  test('as the document shows it, for an operation that takes nothing', async () => {
    const { components } = openApiDocument(api.url);
    const shown = components?.examples?.['validation_error_encoding'];
    const { body } = await api.call(api.key('team_a'), 'GET', '/me?%E4=1', {
      headers: { 'accept-language': 'en' },
    });
    expect(shown).toMatchObject({ value: { ...body, request_id: expect.any(String) } });
  });

  test('for several fields, and for the body as a whole', async () => {
    const post = (options: { body?: unknown; rawBody?: string }) =>
      api.call(api.key('team_a'), 'POST', '/cases', options);
    const several = await post({ body: { user_id: 1, title: 2 } });
    expect(several.body.errors).toHaveLength(2);
    expect(several.body).not.toHaveProperty('field');
    const whole = await post({ rawBody: '{' });
    expect(whole.body).toMatchObject({ errors: [{ path: 'body', code: 'invalid_json' }] });
    expect(whole.body).not.toHaveProperty('field');
  });

  test('over tRPC, where the place is the input', async () => {
    const app = await appAsMember(api, 'a', 'owner');
    const refusals = [
      problemOf(app.v1.members.list.query({ cursor: 'x' })),
      problemOf(app.v1.members.list.query({ limit: 0 })),
    ];
    const [cursor, limit] = await Promise.all(refusals);
    expect(cursor).toMatchObject({ field: 'cursor', errors: [{ path: 'input.cursor' }] });
    expect(limit).toMatchObject({ field: 'limit', errors: [{ path: 'input.limit' }] });
  });
});
