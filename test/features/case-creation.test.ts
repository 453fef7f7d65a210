import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { auditOfTarget } from '../support/audit.ts';
import { untilWaiting } from '../support/locks.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('a', {
        members: [makeMember('a', 'gone', { status: 'ended' }), makeMember('a', 'leaver')],
      }),
      makeTeam('b'),
      makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
    ]),
  });
});

const call = (method: string, path: string, body?: unknown, team = 'a') =>
  api.call(api.key(`team_${team}`), method, path, body === undefined ? {} : { body });
const create = (fields: object = {}) =>
  call('POST', '/cases', { user_id: 'usr_a_member', ...fields });
/** Creates a case from this text, which is sent unchanged. */
const createRaw = (rawBody: string, headers = {}) =>
  api.call(api.key('team_a'), 'POST', '/cases', { rawBody, headers });

async function countCases(): Promise<number> {
  const { rows } = await api.db.pool.query(
    `select count(*)::int as n from training_case where team_id = 'team_a'`,
  );
  return rows[0].n;
}

/** Makes JSON whose UTF-8 text has exactly so many bytes. */
const jsonOf = (bytes: number) => ({ a: `é${'x'.repeat(bytes - '{"a":"é"}'.length - 1)}` });

describe('POST /cases', () => {
  test('201: creates the case as sent, with Location and one audit entry', async () => {
    const fields = {
      title: 'Renewal',
      persona_id: 'per_calm',
      fields: { budget: 1, list: [1, { deep: null }] },
      external_ref: { crm: '7' },
    };
    const created = await create(fields);
    expect(created).toMatchObject({ status: 201, body: { user_id: 'usr_a_member', ...fields } });
    expect(created.headers['location']).toBe(`/api/public/v1/cases/${created.body.id}`);
    expect((await call('GET', `/cases/${created.body.id}`)).text).toBe(created.text);
    expect((await call('GET', '/cases')).body.data).toContainEqual(created.body);
    expect(await auditOfTarget(api, created.body.id)).toEqual([
      { action: 'case.created', details: { user_id: 'usr_a_member', private: false } },
    ]);
  });

  test('201: fields that are missing or null are null', async () => {
    const empty = { title: null, persona_id: null, fields: null, external_ref: null };
    expect(await create()).toMatchObject({ status: 201, body: empty });
    expect(await create(empty)).toMatchObject({ status: 201, body: empty });
  });

  test('201: every answer keeps the order, keys and numbers of free-form JSON', async () => {
    const text =
      '{"z":1,"a":{"constructor":{"prototype":0}},' +
      '"n":[0.1,1e+21,-1.5e-7,9007199254740991,12345678901234567000],' +
      '"$type":"Param","set":{"equals":null},"e":"\u2028é😀","toJSON":"x","":{}}';
    const created = await createRaw(
      `{"user_id":"usr_a_member","fields":${text},"external_ref":${text}}`,
    );
    expect(created.status).toBe(201);
    const expected = `"fields":${text},"external_ref":${text}`;
    expect(created.text).toContain(expected);
    const { id } = created.body;
    expect((await call('GET', `/cases/${id}`)).text).toContain(expected);
    expect((await call('GET', '/cases?limit=1')).text).toContain(expected);
    expect((await call('PATCH', `/cases/${id}`, { title: 'x' })).text).toContain(expected);
    const changed = await api.call(api.key('team_a'), 'PATCH', `/cases/${id}`, {
      rawBody: `{"fields":${text}}`,
    });
    expect(changed.text).toContain(expected);
  });

  test('201: a replay with the same Idempotency-Key returns the same bytes', async () => {
    const before = await countCases();
    const body = '{"user_id":"usr_a_member","fields":{"b":1,"c":2,"a":3}}';
    const headers = { 'idempotency-key': 'case-1' };
    const first = await createRaw(body, headers);
    const second = await createRaw(body, headers);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect(second.headers).toMatchObject({
      'idempotency-replayed': 'true',
      location: first.headers['location'],
    });
    expect(await countCases()).toBe(before + 1);
    const other = '{"user_id":"usr_a_member","fields":{"b":1,"c":4,"a":3}}';
    expect(await createRaw(other, headers)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  test('201: names the person of the request even while member details are off', async () => {
    const made = await call('POST', '/cases', { user_id: 'usr_quiet_member' }, 'quiet');
    expect(made).toMatchObject({ status: 201, body: { user_id: 'usr_quiet_member' } });
    expect(await call('DELETE', `/cases/${made.body.id}`, undefined, 'quiet')).toMatchObject({
      status: 200,
      body: { ok: true },
    });
  });

  test.each(['usr_a_gone', 'usr_b_member', 'nobody', 'mem_a_member'])(
    '404: %s is no active member of this team',
    async (user_id) => {
      const before = await countCases();
      expect(await create({ user_id })).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await countCases()).toBe(before);
    },
  );

  test('404: a creation that meets the removal of the person waits and is refused', async () => {
    const remover = await api.db.pool.connect();
    try {
      await remover.query('begin');
      await remover.query(
        `update member
         set status = 'ended', ended_at = now()
         where team_id = 'team_a' and id = 'mem_a_leaver'`,
      );
      const creation = create({ user_id: 'usr_a_leaver' });
      await untilWaiting(api, 1);
      await remover.query('commit');
      expect(await creation).toMatchObject({ status: 404 });
    } finally {
      remover.release();
    }
    expect((await call('GET', '/cases?user_id=usr_a_leaver')).body.data).toEqual([]);
  });

  test('422: fields or external_ref over 64 KiB of UTF-8; exactly 64 KiB pass', async () => {
    for (const field of ['fields', 'external_ref']) {
      expect((await create({ [field]: jsonOf(65_536) })).status).toBe(201);
      expect(await create({ [field]: jsonOf(65_537) })).toMatchObject({
        status: 422,
        body: { code: 'validation_error', field },
      });
      const { id } = (await create()).body;
      expect(await call('PATCH', `/cases/${id}`, { [field]: jsonOf(65_537) })).toMatchObject({
        status: 422,
        body: { field },
      });
    }
  });

  test.each([
    ['a text as fields', { fields: 'x' }, 'body.fields'],
    ['an array as fields', { fields: [1] }, 'body.fields'],
    ['an array as external_ref', { external_ref: [] }, 'body.external_ref'],
    ['a number as title', { title: 1 }, 'body.title'],
    ['an unknown field', { external_reff: {} }, 'body.external_reff'],
    ['a NUL in a key', { fields: { 'a\0': 1 } }, 'body.fields'],
    ['an id', { id: 'cas_mine' }, 'body.id'],
    ['private', { private: true }, 'body.private'],
  ])('422: %s', async (_what, fields, path) => {
    expect(await create(fields)).toMatchObject({
      status: 422,
      body: { errors: [{ path: expect.stringContaining(path) }] },
    });
  });

  test.each([
    ['an integer with more digits than JSON.parse keeps', '12345678901234567890', 'body'],
    ['a number that is too large for JSON.parse', '1e400', 'body.fields.n'],
  ])('422: %s is refused, not changed silently', async (_what, number, path) => {
    const body = `{"user_id":"usr_a_member","fields":{"n":${number}}}`;
    expect(await createRaw(body)).toMatchObject({
      status: 422,
      body: { errors: [{ path, code: 'invalid_number' }] },
    });
  });

  test('422: JSON that is nested too deeply', async () => {
    const deep = `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`;
    expect(await createRaw(`{"user_id":"usr_a_member","fields":${deep}}`)).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'too_deep' }] },
    });
  });

  test.each([
    ['"__proto__":{"title":"x"}', 'body.__proto__'],
    ['"fields":{"__proto__":{"polluted":true}}', 'body.fields.__proto__'],
    ['"external_ref":{"a":[{"__proto__":1}]}', 'body.external_ref.a.0.__proto__'],
  ])('422: a key __proto__ is refused, not dropped silently: %s', async (field, path) => {
    const refused = await createRaw(`{"user_id":"usr_a_member",${field}}`);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path }] } });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
