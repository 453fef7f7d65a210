import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { CATALOG, makeMember, makeSeed, makeTeam, makeTraining } from '../support/seed.ts';

interface Assignment {
  id: string;
  status: string;
  note: string | null;
  due_date: string | null;
  member_email: string | null;
  [field: string]: unknown;
}

const BODY = {
  title: 'Practise objections',
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

async function eventsOf(
  api: TestApi,
  teamId: string,
): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const { rows } = await api.db.pool.query(
    'select type, data from event where team_id = $1 order by id',
    [teamId],
  );
  return rows as { type: string; data: Record<string, unknown> }[];
}

describe('POST /assignments', () => {
  let api: TestApi;
  beforeAll(async () => {
    const own = (team: string, id: string, kind: 'situation' | 'industry' = 'situation') => ({
      kind,
      id,
      name: { de: 'Eigene', en: 'Own' },
      team,
    });
    api = await startTestApi({
      seed: makeSeed(
        [
          makeTeam('a', {
            blocked: ['ind_public'],
            members: [
              makeMember('a', 'asked', { status: 'invited', user_id: null }),
              makeMember('a', 'gone', { status: 'ended' }),
              makeMember('a', 'picky', { blocked: ['per_calm'] }),
            ],
          }),
          makeTeam('b'),
          makeTeam('few', { released: ['sit_cold', 'per_calm', 'ind_saas'] }),
          makeTeam('more', { released: ['sit_renewal'] }),
          makeTeam('own'),
          makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
        ],
        {
          catalog: [
            ...CATALOG,
            own('team_b', 'sit_own_b'),
            own('team_own', 'sit_renewal'),
            own('team_own', 'sit_own'),
            own('team_own', 'per_tough', 'industry'),
          ],
          catalog_rules: [
            { situation: 'sit_renewal', personality: 'per_tough' },
            { personality: 'per_tough', industry: 'ind_public' },
          ],
        },
      ),
    });
  });
  const create = (fields: object = {}, team = 'a') =>
    api.call(api.key(`team_${team}`), 'POST', '/assignments', {
      body: { member_id: `mem_${team}_member`, ...BODY, ...fields },
    });

  test('201: makes an open assignment as sent, with one event and one audit entry', async () => {
    const created = await create({ note: 'Soon', due_date: '2026-12-01' });
    expect(created).toMatchObject({
      status: 201,
      body: {
        ...BODY,
        status: 'open',
        note: 'Soon',
        due_date: '2026-12-01',
        member_user_id: 'usr_a_member',
        member_email: 'member@a.test',
      },
    });
    const { id } = created.body as Assignment;
    expect(created.headers['location']).toBe(`/api/public/v1/assignments/${id}`);
    expect((await api.call(api.key('team_a'), 'GET', `/assignments/${id}`)).body).toEqual(
      created.body,
    );
    expect(await eventsOf(api, 'team_a')).toEqual([
      {
        type: 'assignment.created',
        data: {
          team_id: 'team_a',
          assignment_id: id,
          status: 'open',
          title: BODY.title,
          member_id: 'mem_a_member',
          user_id: 'usr_a_member',
          due_date: '2026-12-01',
          completed_training_id: null,
        },
      },
    ]);
    const audit = await api.db.pool.query(
      `select action, target_id from audit_log where team_id = 'team_a'`,
    );
    expect(audit.rows).toEqual([{ action: 'assignment.created', target_id: id }]);
  });

  test('201: assigns to an invited member', async () => {
    expect(await create({ member_id: 'mem_a_asked' })).toMatchObject({
      status: 201,
      body: { member_user_id: null },
    });
  });

  test('201: a title may have 120 characters, however many UTF-16 units they are', async () => {
    expect((await create({ title: '😀'.repeat(120) })).status).toBe(201);
    expect(await create({ title: '😀'.repeat(121) })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'body.title' }] },
    });
    expect(await create({ title: '' })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'body.title' }] },
    });
  });

  test.each(['mem_a_gone', 'mem_b_member', 'nobody'])(
    '404: refuses the recipient %s, who is no active or invited member of the team',
    async (member_id) => {
      expect(await create({ member_id })).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    },
  );

  test.each([
    ['an unknown entry', { situation_id: 'sit_nowhere' }, 'situation', 'sit_nowhere'],
    ['an entry of another kind', { personality_id: 'sit_cold' }, 'personality', 'sit_cold'],
    ['another team’s own entry', { situation_id: 'sit_own_b' }, 'situation', 'sit_own_b'],
  ])(
    '422 kombination_ungueltig: refuses %s, with dimension and id',
    async (_case, fields, dimension, id) => {
      expect(await create(fields)).toMatchObject({
        status: 422,
        body: { code: 'kombination_ungueltig', dimension, id },
      });
    },
  );

  test('422 kombination_ungueltig: refuses an entry that is not released to the team', async () => {
    expect(await create({}, 'few')).toMatchObject({ status: 201 });
    const refused = await create({ situation_id: 'sit_renewal' }, 'few');
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'kombination_ungueltig', dimension: 'situation', id: 'sit_renewal' },
    });
  });

  test('201: an own entry of the team, and the global ones beside it', async () => {
    expect(await create({ situation_id: 'sit_own' }, 'own')).toMatchObject({ status: 201 });
    expect(await create({}, 'own')).toMatchObject({ status: 201 });
    const unknown = { code: 'kombination_ungueltig', dimension: 'situation', id: 'sit_nowhere' };
    expect(await create({ situation_id: 'sit_nowhere' }, 'own')).toMatchObject({ body: unknown });
  });

  test('201: a global entry that another team has replaced by its own', async () => {
    expect((await create({ situation_id: 'sit_renewal' })).status).toBe(201);
  });

  test('422 kombination_ungueltig: a global entry that the own entry of its id hides', async () => {
    const hidden = { code: 'kombination_ungueltig', dimension: 'personality', id: 'per_tough' };
    expect(await create({ personality_id: 'per_tough' }, 'own')).toMatchObject({ body: hidden });
    const other = { code: 'kombination_ungueltig', dimension: 'situation', id: 'per_tough' };
    expect(await create({ situation_id: 'per_tough' }, 'own')).toMatchObject({ body: other });
  });

  test('a rule of the catalog forbids just what it names', async () => {
    expect((await create({ personality_id: 'per_tough' }, 'b')).status).toBe(201);
    expect((await create({ situation_id: 'sit_renewal' }, 'b')).status).toBe(201);
    const forbidden = { personality_id: 'per_tough', industry_id: 'ind_public' };
    expect(await create(forbidden, 'b')).toMatchObject({
      status: 422,
      body: { code: 'kombination_ungueltig', dimension: 'personality' },
    });
  });

  test('a block applies to its own team and its own member, and to no other entry', async () => {
    expect((await create({ industry_id: 'ind_public' }, 'b')).status).toBe(201);
    const other = { member_id: 'mem_a_picky', personality_id: 'per_tough' };
    expect((await create(other)).status).toBe(201);
  });

  test('404: a recipient who is being removed at the same time', async () => {
    const removal = await api.db.pool.connect();
    try {
      await removal.query(
        `begin; update member set status = 'ended', ended_at = now() where id = 'mem_more_member'`,
      );
      const creating = create({ situation_id: 'sit_renewal' }, 'more');
      await untilWaiting(api, 1);
      await removal.query('commit');
      expect(await creating).toMatchObject({ status: 404, body: { code: 'not_found' } });
    } finally {
      removal.release();
    }
  });

  test('422 kombination_ungueltig: applies the rules of the catalog, without an id', async () => {
    const refused = await create({ situation_id: 'sit_renewal', personality_id: 'per_tough' });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'kombination_ungueltig', dimension: 'situation' },
    });
    expect(refused.body).not.toHaveProperty('id');
  });

  test('403 vorgabe_gesperrt: applies the policies of the team and of the recipient', async () => {
    expect(await create({ industry_id: 'ind_public' })).toMatchObject({
      status: 403,
      body: { code: 'vorgabe_gesperrt' },
    });
    expect(await create({ member_id: 'mem_a_picky' })).toMatchObject({
      status: 403,
      body: { code: 'vorgabe_gesperrt' },
    });
  });

  test('reports unknown entries first, then catalog rules, then the policy', async () => {
    const ruled = await create({
      situation_id: 'sit_renewal',
      personality_id: 'per_tough',
      industry_id: 'ind_public',
    });
    expect(ruled.body).toMatchObject({ code: 'kombination_ungueltig', dimension: 'situation' });
    const unknown = await create({
      situation_id: 'sit_renewal',
      personality_id: 'per_tough',
      industry_id: 'nowhere',
    });
    expect(unknown.body).toMatchObject({
      code: 'kombination_ungueltig',
      dimension: 'industry',
      id: 'nowhere',
    });
  });

  test.each(['2026-02-30', '2026-13-01', '01.12.2026', '2026-12-01T00:00:00Z'])(
    '422: refuses %s, which is no calendar date',
    async (due_date) => {
      expect(await create({ due_date })).toMatchObject({
        status: 422,
        body: { errors: [{ path: 'body.due_date' }] },
      });
    },
  );

  test('no email or user id in response and event while member_detail_enabled is off', async () => {
    const created = await create({}, 'quiet');
    expect(created).toMatchObject({ status: 201, body: { member_email: null } });
    expect((await eventsOf(api, 'team_quiet'))[0]?.data).not.toHaveProperty('user_id');
    expect(await api.call(api.key('team_quiet'), 'GET', '/assignments')).toMatchObject({
      status: 403,
      body: { code: 'privacy_restricted' },
    });
  });

  test('a change tells no recipient while member_detail_enabled is off', async () => {
    const { body } = await create({}, 'quiet');
    expect(body.member_user_id).toBe('usr_quiet_member');
    for (const change of [{}, { note: 'Soon' }, { status: 'done' }]) {
      const path = `/assignments/${body.id}`;
      const changed = await api.call(api.key('team_quiet'), 'PATCH', path, { body: change });
      expect(changed.status).toBe(200);
      expect(changed.body).toMatchObject({ ...change, member_user_id: null, member_email: null });
      expect(changed.text).not.toContain('usr_quiet');
    }
  });
});

describe('GET /assignments', () => {
  test('pages show every assignment once, the newest first, each with its recipient', async () => {
    const names = ['owner', 'admin', 'member'];
    const assignments = [1, 2, 4, 4, 4, 5, 5].map((day, index) => ({
      ...BODY,
      id: `asg_${index}`,
      member_id: `mem_a_${names[index % 3]}`,
      created_at: `2026-10-0${day}T09:00:00Z`,
    }));
    const api = await startTestApi({ seed: makeSeed([makeTeam('a', { assignments })]) });
    const seen: unknown[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = cursor === '' ? 'limit=3' : `limit=3&cursor=${cursor}`;
      const { body } = await api.call(api.key('team_a'), 'GET', `/assignments?${query}`);
      const page = body as { data: Assignment[]; next_cursor: string | null };
      seen.push(...page.data.map(({ id, member_email }) => [id, member_email]));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(
      [6, 5, 4, 3, 2, 1, 0].map((index) => [`asg_${index}`, `${names[index % 3]}@a.test`]),
    );
  });
});

describe('PATCH and DELETE /assignments/{assignment_id}', () => {
  let api: TestApi;
  beforeAll(async () => {
    const base = { ...BODY, member_id: 'mem_a_member', note: 'first', due_date: '2026-12-01' };
    api = await startTestApi({
      seed: makeSeed([
        makeTeam('a', {
          assignments: ['one', 'two', 'three', 'four', 'gone'].map((id) => ({ ...base, id })),
          trainings: ['gone', 'two'].map((id) =>
            makeTraining('a', `trn_for_${id}`, { assignment_id: id }),
          ),
        }),
        makeTeam('b'),
      ]),
    });
  });
  const patch = (id: string, body: object) =>
    api.call(api.key('team_a'), 'PATCH', `/assignments/${id}`, { body });
  const completions = async (id: string) =>
    (await eventsOf(api, 'team_a')).filter(
      (event) => event.type === 'assignment.completed' && event.data['assignment_id'] === id,
    ).length;

  test('a change of the status to done raises assignment.completed', async () => {
    expect(await patch('one', { status: 'done' })).toMatchObject({
      status: 200,
      body: { status: 'done', note: 'first' },
    });
    expect(await completions('one')).toBe(1);
    expect((await patch('one', { status: 'done' })).status).toBe(200);
    expect(await completions('one')).toBe(1);
    await patch('one', { status: 'open' });
    await patch('one', { status: 'done' });
    expect(await completions('one')).toBe(2);
    const { body } = await api.call(null, 'GET', '/openapi.v1.json');
    expect(body.paths['/assignments/{assignment_id}'].patch.description).toContain(
      'Each change to `done` raises `assignment.completed`.',
    );
  });

  test('PATCH changes only the fields it names; null clears a field', async () => {
    expect(await patch('two', { note: null })).toMatchObject({
      status: 200,
      body: {
        note: null,
        due_date: '2026-12-01',
        status: 'open',
        member_email: 'member@a.test',
      },
    });
    expect(await patch('two', { due_date: null })).toMatchObject({
      status: 200,
      body: { note: null, due_date: null },
    });
  });

  test('PATCH replaces external_ref as a whole, and keeps it if it is not named', async () => {
    const ref = { z: 1, id: 'ext 1', a: [null, 'ä'] };
    const set = await patch('four', { external_ref: ref });
    expect(set).toMatchObject({ status: 200, body: { external_ref: ref, note: 'first' } });
    expect(set.text).toContain('"external_ref":{"z":1,"id":"ext 1","a":[null,"ä"]}');
    expect((await patch('four', { note: 'second' })).body).toMatchObject({ external_ref: ref });
    const other = { id: 7 };
    expect((await patch('four', { external_ref: other })).body).toMatchObject({
      external_ref: { id: 7 },
      note: 'second',
    });
    expect((await patch('four', { external_ref: null })).body).toMatchObject({
      external_ref: null,
    });
  });

  test.each([{ id: '' }, { id: {} }, { id: 'x'.repeat(201) }, { text: 'x'.repeat(5000) }])(
    '422: PATCH and POST refuse the external_ref %o, and change nothing',
    async (external_ref) => {
      const refused = { status: 422, body: { code: 'validation_error', field: 'external_ref' } };
      const before = await api.db.pool.query('select * from assignment order by team_id, id');
      expect(await patch('three', { external_ref, note: 'other' })).toMatchObject(refused);
      const body = { ...BODY, member_id: 'mem_a_member', external_ref };
      expect(await api.call(api.key('team_a'), 'POST', '/assignments', { body })).toMatchObject(
        refused,
      );
      const after = await api.db.pool.query('select * from assignment order by team_id, id');
      expect(after.rows).toEqual(before.rows);
    },
  );

  test('PATCH with an empty body is a 200 without a change or an audit entry', async () => {
    const before = await api.db.pool.query('select count(*)::int as n from audit_log');
    expect(await patch('three', {})).toMatchObject({
      status: 200,
      body: { status: 'open', note: 'first' },
    });
    expect((await api.db.pool.query('select count(*)::int as n from audit_log')).rows).toEqual(
      before.rows,
    );
  });

  test.each(['revoked', 'DONE', ''])('422: refuses the status %o', async (status) => {
    expect(await patch('three', { status })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'status' },
    });
  });

  test('two calls that set done at once raise one event', async () => {
    const release = await holdLock(
      api,
      `select from assignment where team_id = 'team_a' and id = 'four' for update`,
    );
    const calls = Array.from({ length: 2 }, () => patch('four', { status: 'done' }));
    await untilWaiting(api, 2);
    await release();
    await Promise.all(calls);
    expect(await completions('four')).toBe(1);
  });

  test('DELETE removes it without an event; its trainings stay without the reference', async () => {
    const events = (await eventsOf(api, 'team_a')).length;
    // It does not wait for a change of another one.
    await holdLock(
      api,
      `select from assignment where team_id = 'team_a' and id = 'three' for update`,
    );
    expect(await api.call(api.key('team_a'), 'DELETE', '/assignments/gone')).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect((await api.call(api.key('team_a'), 'DELETE', '/assignments/gone')).status).toBe(404);
    expect((await api.call(api.key('team_a'), 'GET', '/assignments/gone')).status).toBe(404);
    const { rows } = await api.db.pool.query(
      `select assignment_id from training where team_id = 'team_a' order by id`,
    );
    expect(rows).toEqual([{ assignment_id: null }, { assignment_id: 'two' }]);
    expect((await eventsOf(api, 'team_a')).length).toBe(events);
  });

  test('404: another team can neither change nor delete it', async () => {
    const key = api.key('team_b');
    expect(
      (await api.call(key, 'PATCH', '/assignments/two', { body: { note: 'mine' } })).status,
    ).toBe(404);
    expect((await api.call(key, 'DELETE', '/assignments/two')).status).toBe(404);
    expect(await api.call(api.key('team_a'), 'GET', '/assignments/two')).toMatchObject({
      status: 200,
      body: { note: null },
    });
  });
});
