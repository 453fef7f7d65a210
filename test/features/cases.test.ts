import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { tagOf } from '../../src/http/api/etag.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { auditOfTarget } from '../support/audit.ts';
import { endWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  const at = (minute: number) => `2026-10-01T09:${String(minute).padStart(2, '0')}:00Z`;
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('a', {
        members: [makeMember('a', 'gone', { status: 'ended' })],
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
          user_id: minute % 2 || minute === 4 ? 'usr_list_member' : 'usr_list_admin',
          // 3 and 4 have the same time, so their ids decide.
          created_at: at(minute === 4 ? 3 : minute),
          private: minute === 5,
        })),
      }),
    ]),
  });
});

const call = (method: string, path: string, body?: unknown, team = 'a') =>
  api.call(api.key(`team_${team}`), method, path, body === undefined ? {} : { body });
const newCase = async (fields: object = {}): Promise<string> =>
  (await call('POST', '/cases', { user_id: 'usr_a_member', ...fields })).body.id;

describe('GET /cases', () => {
  test('200: newest first, then by id; private cases are left out', async () => {
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

  test('200: pages show each case once, also when filtered by person', async () => {
    for (const [filter, expected] of [
      ['', ['cas_7', 'cas_6', 'cas_4', 'cas_3', 'cas_2', 'cas_1']],
      ['&user_id=usr_list_member', ['cas_7', 'cas_4', 'cas_3', 'cas_1']],
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

  test("200: the page of an unknown person, or of another team's, is empty", async () => {
    for (const id of ['nobody', 'usr_b_member'])
      expect((await call('GET', `/cases?user_id=${id}`)).body).toEqual({
        data: [],
        next_cursor: null,
      });
  });

  test('403: cases are not shown while member details are off', async () => {
    expect(await call('GET', '/cases', undefined, 'quiet')).toMatchObject({
      status: 403,
      body: { code: 'privacy_restricted' },
    });
    expect(await call('GET', '/cases/cas_quiet', undefined, 'quiet')).toMatchObject({
      status: 403,
      body: { code: 'privacy_restricted' },
    });
  });

  test('422: refuses the cursor of another list', async () => {
    const { body } = await call('GET', '/users?limit=1');
    expect(await call('GET', `/cases?cursor=${body.next_cursor}`)).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'query.cursor' }] },
    });
  });
});

describe('GET, PATCH and DELETE /cases/{case_id}', () => {
  test.each(['cas_private', 'cas_b', 'cas_unknown'])(
    "404: hides %s (private, another team's, unknown) as if it never existed, and keeps it",
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
          detail:
            'The team has nothing with this case_id. ' +
            'Check the path and the id. The lists contain the valid ids.',
        });
      const { rows } = await api.db.pool.query(
        `select title
         from training_case
         where id in ('cas_private', 'cas_b')
         order by id`,
      );
      expect(rows).toEqual([{ title: 'Foreign' }, { title: 'Diary' }]);
      expect(await auditOfTarget(api, id)).toEqual([]);
    },
  );

  test('PATCH 200: changes only the fields it names and logs their names', async () => {
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
    expect((await auditOfTarget(api, id)).at(-1)).toEqual({
      action: 'case.updated',
      details: { fields: ['title', 'fields'] },
    });
  });

  test('PATCH 200: null clears a field; fields may be an array', async () => {
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
      `select fields is null as f, external_ref is null as e
       from training_case
       where id = $1`,
      [id],
    );
    expect(rows).toEqual([{ f: true, e: true }]);
    expect((await call('PATCH', `/cases/${id}`, { fields: [1, { a: 2 }] })).body.fields).toEqual([
      1,
      { a: 2 },
    ]);
  });

  test.each(['fields', 'external_ref'])('PATCH 200: the new %s are measured', async (name) => {
    const id = await newCase({ fields: { a: 1 }, external_ref: { x: 1 } });
    await call('PATCH', `/cases/${id}`, { [name]: { long: 'x'.repeat(1000) } });
    const { rows } = await api.db.pool.query(
      `select json_bytes, octet_length(fields::text) + octet_length(external_ref::text) as bytes
       from training_case
       where id = $1`,
      [id],
    );
    // The end of a page depends on it.
    expect(rows).toEqual([{ json_bytes: rows[0].bytes, bytes: expect.any(Number) }]);
  });

  test('PATCH 200: an empty body changes nothing and logs nothing', async () => {
    const id = await newCase({ title: 'Same' });
    expect(await call('PATCH', `/cases/${id}`, {})).toMatchObject({
      status: 200,
      body: { title: 'Same' },
    });
    expect(await auditOfTarget(api, id)).toHaveLength(1);
  });

  test('PATCH: the case of a removed member can change, the person of a case cannot', async () => {
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

  test('while member details are off, PATCH tells no person, POST the one it names', async () => {
    const path = '/cases/cas_quiet';
    for (const body of [{}, { title: 'New' }]) {
      const changed = await call('PATCH', path, body, 'quiet');
      expect(changed).toMatchObject({ status: 200, body: { id: 'cas_quiet', ...body } });
      expect(changed.text).not.toContain('usr_');
    }
    // The tag of a read with a guessed person must not match either.
    const { body } = await call('PATCH', path, {}, 'quiet');
    const { id, ...rest } = body as { id: string };
    const guessed = JSON.stringify({ id, user_id: 'usr_quiet_member', ...rest });
    const headers = { 'if-match': `"${tagOf(guessed)}"` };
    for (const method of ['PATCH', 'DELETE'])
      expect(
        await api.call(api.key('team_quiet'), method, path, {
          headers,
          ...(method === 'PATCH' && { body: {} }),
        }),
      ).toMatchObject({ status: 412 });
    const created = await call('POST', '/cases', { user_id: 'usr_quiet_member' }, 'quiet');
    expect(created.body).toMatchObject({ user_id: 'usr_quiet_member' });
  });

  test('PATCH 503: a change during which the database connection breaks is undone', async () => {
    const id = await newCase({ title: 'Before' });
    const release = await holdLock(
      api,
      `select from training_case where team_id = 'team_a' and id = '${id}' for update`,
    );
    const change = call('PATCH', `/cases/${id}`, { title: 'After' });
    await untilWaiting(api, 1);
    await endWaiting(api);
    expect(await change).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    await release();
    expect((await call('GET', `/cases/${id}`)).body.title).toBe('Before');
  });

  test('DELETE 200: of two deletions at once, one finds the case', async () => {
    const id = await newCase();
    const answers = await Promise.all([
      call('DELETE', `/cases/${id}`),
      call('DELETE', `/cases/${id}`),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
    expect((await call('GET', `/cases/${id}`)).status).toBe(404);
    expect((await auditOfTarget(api, id)).map(({ action }) => action)).toEqual([
      'case.created',
      'case.deleted',
    ]);
  });

  test('created_at is the time of the creation, in UTC with milliseconds', async () => {
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

  test('403: each operation needs its scope', async () => {
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
