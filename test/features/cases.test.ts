import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  const at = (minute: number) => `2026-10-01T09:${String(minute).padStart(2, '0')}:00Z`;
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('a', {
        members: [
          makeMember('a', 'asked', { status: 'invited' }),
          makeMember('a', 'gone', { status: 'ended' }),
          makeMember('a', 'leaver'),
        ],
        cases: [{ id: 'cas_private', user_id: 'usr_a_member', title: 'Diary', private: true }],
      }),
      makeTeam('b', { cases: [{ id: 'cas_b', user_id: 'usr_b_member', title: 'Foreign' }] }),
      makeTeam('quiet', {
        privacy: { member_detail_enabled: false },
        cases: [{ id: 'cas_quiet', user_id: 'usr_quiet_member', title: 'Quiet' }],
      }),
      makeTeam('list', {
        cases: [1, 2, 3, 4, 5, 6, 7].map((minute) => ({
          id: `cas_${minute}`,
          user_id: minute % 2 ? 'usr_list_member' : 'usr_list_admin',
          // 3 and 4 are of one moment: the id decides.
          created_at: at(minute === 4 ? 3 : minute),
          private: minute === 5,
        })),
      }),
    ]),
  });
});

const call = (method: string, path: string, body?: unknown, team = 'a') =>
  api.call(api.key(`team_${team}`), method, path, body === undefined ? {} : { body });
const create = (fields: object = {}) =>
  call('POST', '/cases', { user_id: 'usr_a_member', ...fields });
const newCase = async (fields: object = {}): Promise<string> => (await create(fields)).body.id;

async function auditOf(targetId: string) {
  const { rows } = await api.db.pool.query(
    'select action, details from audit_log where target_id = $1 order by id',
    [targetId],
  );
  return rows;
}

async function countCases(teamId = 'team_a'): Promise<number> {
  const { rows } = await api.db.pool.query(
    'select count(*)::int as n from training_case where team_id = $1',
    [teamId],
  );
  return rows[0].n;
}

/** JSON whose UTF-8 text has exactly so many bytes. */
const jsonOf = (bytes: number) => ({ a: `é${'x'.repeat(bytes - '{"a":"é"}'.length - 1)}` });

describe('GET /cases', () => {
  test('200: newest first, the id deciding between two of one moment; a private case is not among them', async () => {
    const { body } = await call('GET', '/cases', undefined, 'list');
    expect(body.data.map((item: { id: string }) => item.id)).toEqual([
      'cas_7',
      'cas_6',
      'cas_4',
      'cas_3',
      'cas_2',
      'cas_1',
    ]);
    expect(body.next_cursor).toBeNull();
    expect(body.data[0]).toEqual({
      id: 'cas_7',
      user_id: 'usr_list_member',
      title: null,
      persona_id: null,
      fields: null,
      external_ref: null,
      created_at: '2026-10-01T09:07:00.000Z',
    });
  });

  test('200: pages of two, filtered by person too, show each case once', async () => {
    for (const [filter, expected] of [
      ['', ['cas_7', 'cas_6', 'cas_4', 'cas_3', 'cas_2', 'cas_1']],
      ['&user_id=usr_list_member', ['cas_7', 'cas_3', 'cas_1']],
    ] as const) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const { body } = await call('GET', `/cases?limit=2${filter}${cursor}`, undefined, 'list');
        seen.push(...body.data.map((item: { id: string }) => item.id));
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      } while (cursor !== '');
      expect(seen).toEqual(expected);
    }
  });

  test("200: an unknown person, or another team's, has an empty page", async () => {
    for (const id of ['nobody', 'usr_b_member'])
      expect((await call('GET', `/cases?user_id=${id}`)).body).toEqual({
        data: [],
        next_cursor: null,
      });
  });

  test('403: not while the team keeps details of its members to itself', async () => {
    expect(await call('GET', '/cases', undefined, 'quiet')).toMatchObject({
      status: 403,
      body: { code: 'privacy_restricted' },
    });
    expect(await call('GET', '/cases/cas_quiet', undefined, 'quiet')).toMatchObject({
      status: 403,
      body: { code: 'privacy_restricted' },
    });
  });

  test('422: the cursor of another list', async () => {
    const { body } = await call('GET', '/users?limit=1');
    expect(await call('GET', `/cases?cursor=${body.next_cursor}`)).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'query.cursor' }] },
    });
  });
});

describe('POST /cases', () => {
  test('201: the case as it was sent, found again, with one audit entry', async () => {
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
    expect(await auditOf(created.body.id)).toEqual([
      { action: 'case.created', details: { user_id: 'usr_a_member' } },
    ]);
  });

  test('201: what is left out, or null, is null', async () => {
    const empty = { title: null, persona_id: null, fields: null, external_ref: null };
    expect(await create()).toMatchObject({ status: 201, body: empty });
    expect(await create(empty)).toMatchObject({ status: 201, body: empty });
  });

  test('201: free-form JSON comes back in the order and with the keys and numbers that were sent, in every answer', async () => {
    const text =
      '{"z":1,"a":{"constructor":{"prototype":0}},"n":[0.1,1e+21,-1.5e-7,9007199254740991,12345678901234567000],"$type":"Param","set":{"equals":null},"e":"\u2028é😀","toJSON":"x","":{}}';
    const sent = `{"user_id":"usr_a_member","fields":${text},"external_ref":${text}}`;
    const created = await api.call(api.key('team_a'), 'POST', '/cases', { rawBody: sent });
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

  test('201: a replay with the same Idempotency-Key is the same case, byte by byte', async () => {
    const before = await countCases();
    const options = {
      rawBody: '{"user_id":"usr_a_member","fields":{"b":1,"c":2,"a":3}}',
      headers: { 'idempotency-key': 'case-1' },
    };
    const first = await api.call(api.key('team_a'), 'POST', '/cases', options);
    const second = await api.call(api.key('team_a'), 'POST', '/cases', options);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.text).toBe(first.text);
    expect(second.headers).toMatchObject({
      'idempotency-replayed': 'true',
      location: first.headers['location'],
    });
    expect(await countCases()).toBe(before + 1);
    const other = {
      ...options,
      rawBody: '{"user_id":"usr_a_member","fields":{"b":1,"c":4,"a":3}}',
    };
    expect(await api.call(api.key('team_a'), 'POST', '/cases', other)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  test('201: also while details of members are off, and the answer names the person that the request named', async () => {
    const made = await call('POST', '/cases', { user_id: 'usr_quiet_member' }, 'quiet');
    expect(made).toMatchObject({ status: 201, body: { user_id: 'usr_quiet_member' } });
    expect(await call('PATCH', `/cases/${made.body.id}`, { title: 'x' }, 'quiet')).toMatchObject({
      status: 200,
      body: { user_id: 'usr_quiet_member' },
    });
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

  test('404: while the removal of the person is being committed, the creation waits for it, and is refused', async () => {
    const remover = await api.db.pool.connect();
    try {
      await remover.query('begin');
      await remover.query(
        `update member set status = 'ended', ended_at = now() where team_id = 'team_a' and id = 'mem_a_leaver'`,
      );
      const creation = create({ user_id: 'usr_a_leaver' });
      await untilWaiting(1);
      await remover.query('commit');
      expect(await creation).toMatchObject({ status: 404 });
    } finally {
      remover.release();
    }
    expect((await call('GET', '/cases?user_id=usr_a_leaver')).body.data).toEqual([]);
  });

  test('422: fields or external_ref of more than 64 KiB, counted in UTF-8; exactly 64 KiB pass', async () => {
    for (const field of ['fields', 'external_ref']) {
      expect((await create({ [field]: jsonOf(65_536) })).status).toBe(201);
      expect(await create({ [field]: jsonOf(65_537) })).toMatchObject({
        status: 422,
        body: { code: 'validation_error', field },
      });
      const id = await newCase();
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
    ['a wish to be private', { private: true }, 'body.private'],
  ])('422: %s', async (_what, fields, path) => {
    expect(await create(fields)).toMatchObject({
      status: 422,
      body: { errors: [{ path: expect.stringContaining(path) }] },
    });
  });

  test.each([
    ['an integer of more digits than JSON.parse keeps', '12345678901234567890', 'body'],
    ['a number beyond every range', '1e400', 'body.fields.n'],
  ])('422: %s is refused, not changed silently', async (_what, number, path) => {
    const rawBody = `{"user_id":"usr_a_member","fields":{"n":${number}}}`;
    expect(await api.call(api.key('team_a'), 'POST', '/cases', { rawBody })).toMatchObject({
      status: 422,
      body: { errors: [{ path, code: 'invalid_number' }] },
    });
  });

  test('422: JSON nested without end', async () => {
    const rawBody = `{"user_id":"usr_a_member","fields":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`;
    expect(await api.call(api.key('team_a'), 'POST', '/cases', { rawBody })).toMatchObject({
      status: 422,
      body: { errors: [{ code: 'too_deep' }] },
    });
  });

  test.each([
    ['"__proto__":{"title":"x"}', 'body.__proto__'],
    ['"fields":{"__proto__":{"polluted":true}}', 'body.fields.__proto__'],
    ['"external_ref":{"a":[{"__proto__":1}]}', 'body.external_ref.a.0.__proto__'],
  ])('422: a key __proto__ is refused, not lost silently: %s', async (field, path) => {
    const rawBody = `{"user_id":"usr_a_member",${field}}`;
    const refused = await api.call(api.key('team_a'), 'POST', '/cases', { rawBody });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path }] } });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('GET, PATCH and DELETE /cases/{case_id}', () => {
  test.each(['cas_private', 'cas_b', 'cas_unknown'])(
    "404: %s (private, another team's, unknown) as if it had never existed, and it stays as it is",
    async (id) => {
      const answers = [
        await call('GET', `/cases/${id}`),
        await call('PATCH', `/cases/${id}`, { title: 'Mine' }),
        await call('PATCH', `/cases/${id}`, {}),
        await call('DELETE', `/cases/${id}`),
      ];
      for (const { status, body } of answers)
        expect({ status, code: body.code, detail: body.detail }).toEqual({
          status: 404,
          code: 'not_found',
          detail: undefined,
        });
      const { rows } = await api.db.pool.query(
        `select title from training_case where id in ('cas_private', 'cas_b') order by id`,
      );
      expect(rows).toEqual([{ title: 'Foreign' }, { title: 'Diary' }]);
      expect(await auditOf(id)).toEqual([]);
    },
  );

  test('PATCH 200: changes what it names, leaves the rest, and says in the audit log which', async () => {
    const id = await newCase({
      title: 'Old',
      persona_id: 'per_calm',
      fields: { a: 1, b: 2 },
      external_ref: { x: 1 },
    });
    const changed = await call('PATCH', `/cases/${id}`, { title: 'New', fields: { c: 3 } });
    expect(changed).toMatchObject({
      status: 200,
      body: { title: 'New', persona_id: 'per_calm', external_ref: { x: 1 } },
    });
    expect(changed.body.fields).toEqual({ c: 3 });
    expect((await call('GET', `/cases/${id}`)).body).toEqual(changed.body);
    expect((await auditOf(id)).at(-1)).toEqual({
      action: 'case.updated',
      details: { fields: ['title', 'fields'] },
    });
  });

  test('PATCH 200: null clears, an array is taken as fields', async () => {
    const id = await newCase({
      title: 'Old',
      persona_id: 'p',
      fields: { a: 1 },
      external_ref: { x: 1 },
    });
    const cleared = { title: null, persona_id: null, fields: null, external_ref: null };
    expect(await call('PATCH', `/cases/${id}`, cleared)).toMatchObject({
      status: 200,
      body: cleared,
    });
    const { rows } = await api.db.pool.query(
      'select fields is null as f, external_ref is null as e from training_case where id = $1',
      [id],
    );
    expect(rows).toEqual([{ f: true, e: true }]);
    expect((await call('PATCH', `/cases/${id}`, { fields: [1, { a: 2 }] })).body.fields).toEqual([
      1,
      { a: 2 },
    ]);
  });

  test('PATCH 200: an empty body changes nothing and leaves no trace', async () => {
    const id = await newCase({ title: 'Same' });
    expect(await call('PATCH', `/cases/${id}`, {})).toMatchObject({
      status: 200,
      body: { title: 'Same' },
    });
    expect(await auditOf(id)).toHaveLength(1);
  });

  test('PATCH 200: a case of a removed member can still be changed; the person cannot be exchanged', async () => {
    const id = await newCase();
    expect(await call('PATCH', `/cases/${id}`, { user_id: 'usr_a_admin' })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'body.user_id' }] },
    });
    await api.db.pool.query(`update training_case set user_id = 'usr_a_gone' where id = $1`, [id]);
    expect(await call('PATCH', `/cases/${id}`, { title: 'Later' })).toMatchObject({
      status: 200,
      body: { user_id: 'usr_a_gone' },
    });
  });

  test('503: the database breaks off while the case is being changed; afterwards it is as it was', async () => {
    const id = await newCase({ title: 'Before' });
    const blocker = await api.db.pool.connect();
    await blocker.query('begin');
    await blocker.query('select from training_case where id = $1 for update', [id]);
    const change = call('PATCH', `/cases/${id}`, { title: 'After' });
    await untilWaiting(1);
    await api.db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(await change).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    await blocker.query('rollback');
    blocker.release();
    expect((await call('GET', `/cases/${id}`)).body.title).toBe('Before');
  });

  test('DELETE 200: the case is gone, once', async () => {
    const id = await newCase();
    const answers = await Promise.all([
      call('DELETE', `/cases/${id}`),
      call('DELETE', `/cases/${id}`),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
    expect((await call('GET', `/cases/${id}`)).status).toBe(404);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual([
      'case.created',
      'case.deleted',
    ]);
  });

  test('created_at is the moment of the creation, in UTC with milliseconds', async () => {
    const clock = fixedClock(new Date('2026-11-20T08:00:00.050Z'));
    const still = await startTestApi({ seed: makeSeed([makeTeam('c')]), clock });
    const { body } = await still.call(still.key('team_c'), 'POST', '/cases', {
      body: { user_id: 'usr_c_member' },
    });
    expect(body.created_at).toBe('2026-11-20T08:00:00.050Z');
    expect(
      (await still.call(still.key('team_c'), 'GET', `/cases/${body.id}`)).body.created_at,
    ).toBe('2026-11-20T08:00:00.050Z');
    await still.stop();
  });

  test('403: each needs its scope', async () => {
    const keyOf = (scope: string) => api.key('team_a', scope);
    expect(await api.call(keyOf('cases:write'), 'GET', '/cases')).toMatchObject({
      status: 403,
      body: { required_scope: 'cases:read' },
    });
    expect(await api.call(keyOf('cases:read'), 'POST', '/cases', { body: {} })).toMatchObject({
      status: 403,
      body: { required_scope: 'cases:write' },
    });
    expect(await api.call(keyOf('cases:read'), 'DELETE', '/cases/cas_private')).toMatchObject({
      status: 403,
      body: { required_scope: 'cases:write' },
    });
  });
});

/** Until so many statements of this database wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (;;) {
    const { rows } = await api.db.pool.query(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows[0].n >= count) return;
  }
}
