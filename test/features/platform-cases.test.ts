import { describe, expect, test } from 'vitest';
import { codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { api, platform, usePlatform } from '../support/platform.ts';
import { makeMember, makeTeam, userId } from '../support/seed.ts';

const members = [makeMember('a', 'left', { status: 'ended' }), makeMember('a', 'leaves')];
usePlatform([makeTeam('a', { members }), makeTeam('b')], 'cases');

const ACTOR = { actor_kind: 'platform', actor_id: 'cases' };
const a = (id: string, fields: object = {}) => ({ team_id: 'team_a', case_id: id, ...fields });
const create = (id: string, fields: object = {}) =>
  platform.cases.create.mutate({ ...a(id), user_id: userId('a', 'member'), ...fields });
const read = (id: string) => api.call(api.key('team_a'), 'GET', `/cases/${id}`);

describe('cases of a member', () => {
  test("a case is in the API at once, a private one when it becomes the team's", async () => {
    const content = {
      title: 'Renewal',
      persona_id: 'per_calm',
      fields: { b: [1], a: null },
      external_ref: { crm: 7 },
    };
    const made = await create('cas_1', content);
    expect(made).toEqual({
      id: 'cas_1',
      user_id: userId('a', 'member'),
      created_at: expect.any(String),
      private: false,
      ...content,
    });
    const { private: _private, ...shown } = made;
    expect((await read('cas_1')).body).toEqual(shown);
    await create('cas_2', { private: true });
    expect((await read('cas_2')).status).toBe(404);
    await platform.cases.update.mutate(a('cas_2', { private: false, title: 'Shared' }));
    expect((await read('cas_2')).body).toMatchObject({ title: 'Shared' });
    await platform.cases.update.mutate(a('cas_1', { private: true, title: null }));
    expect((await read('cas_1')).status).toBe(404);
    const list = (await api.call(api.key('team_a'), 'GET', '/cases')).body as {
      data: { id: string }[];
    };
    expect(list.data.map(({ id }) => id)).toEqual(['cas_2']);
  });

  test('a repeated creation returns the same case; other values are a conflict', async () => {
    const made = await create('cas_3', { fields: { x: 1, y: 2 } });
    expect(await create('cas_3', { fields: { y: 2, x: 1 } })).toEqual(made);
    expect(await codeOf(create('cas_3', { fields: { x: 2 } }))).toBe('conflict');
    expect(await codeOf(create('cas_3', { fields: { x: 1, y: 2 }, private: true }))).toBe(
      'conflict',
    );
    const codes = await Promise.all(
      [1, 1, 1, 2, 2, 2].map((x) => codeOf(create('cas_race', { external_ref: { x } }))),
    );
    expect(codes.filter((code) => code === 'ok')).toHaveLength(3);
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(3);
    const entries = (await auditOf(api, 'team_a')).filter(
      ({ target_id }) => target_id === 'cas_race',
    );
    expect(entries).toEqual([
      {
        ...ACTOR,
        action: 'case.created',
        target_id: 'cas_race',
        details: { user_id: userId('a', 'member'), private: false },
      },
    ]);
  });

  test('a repeated creation returns the case also when its person has left meanwhile', async () => {
    const fields = { user_id: userId('a', 'leaves') };
    const made = await create('cas_left', fields);
    await api.db.pool.query(`update member set status = 'ended' where user_id = $1`, [
      fields.user_id,
    ]);
    expect(await create('cas_left', fields)).toEqual(made);
    expect(await codeOf(create('cas_later', fields))).toBe('not_found');
  });

  test('a change to the same values logs nothing; a removed case is gone', async () => {
    await create('cas_4', { title: 'T' });
    await create('cas_stays');
    await platform.cases.update.mutate(a('cas_4', { title: 'T' }));
    await platform.cases.remove.mutate(a('cas_4'));
    expect((await read('cas_4')).status).toBe(404);
    expect((await read('cas_stays')).status).toBe(200);
    const actions = (await auditOf(api, 'team_a')).filter(({ target_id }) => target_id === 'cas_4');
    expect(actions.map(({ action }) => action)).toEqual(['case.created', 'case.deleted']);
    expect(await codeOf(platform.cases.remove.mutate(a('cas_4')))).toBe('not_found');
    expect(await codeOf(platform.cases.update.mutate(a('cas_4', { title: 'T' })))).toBe(
      'not_found',
    );
  });

  test('of two changes at once both stay', async () => {
    await create('cas_both');
    const release = await holdLock(
      api,
      `select from training_case where team_id = 'team_a' and id = 'cas_both' for update`,
    );
    const changes = [{ title: 'Both' }, { persona_id: 'per_calm' }].map((fields) =>
      platform.cases.update.mutate(a('cas_both', fields)),
    );
    await untilWaiting(api, 2);
    await release();
    await Promise.all(changes);
    expect((await read('cas_both')).body).toMatchObject({ title: 'Both', persona_id: 'per_calm' });
  });

  test('a case needs an active member of the team, and valid JSON', async () => {
    expect(await codeOf(create('cas_5', { user_id: userId('a', 'left') }))).toBe('not_found');
    expect(await codeOf(create('cas_5', { user_id: userId('b', 'member') }))).toBe('not_found');
    expect(await codeOf(create('cas_5', { fields: { x: 'x'.repeat(70_000) } }))).toBe(
      'validation_error',
    );
    await create('cas_6');
    expect(
      await codeOf(platform.cases.remove.mutate({ team_id: 'team_b', case_id: 'cas_6' })),
    ).toBe('not_found');
  });
});

describe('the catalog', () => {
  const catalogOf = async (teamId: string) =>
    (await api.call(api.key(teamId), 'GET', '/catalog', { headers: { 'accept-language': 'en' } }))
      .body as Record<string, { id: string; name: string | null }[]>;

  test('an entry is for every team, or for one; a save replaces the whole entry', async () => {
    const entry = (id: string, en: string | null) => ({
      kind: 'role' as const,
      id,
      name: { en },
      icon: 'x',
    });
    await platform.catalog.saveEntries.mutate({
      entries: [entry('rol_1', 'One'), entry('rol_2', 'Two')],
    });
    await platform.catalog.saveTeamEntries.mutate({
      team_id: 'team_a',
      entries: [entry('rol_own', 'Own')],
    });
    const names = async (teamId: string) =>
      (await catalogOf(teamId))['role']?.map(({ name }) => name);
    expect(await names('team_a')).toEqual(['Buyer', 'One', 'Own', 'Two']);
    expect(await names('team_b')).toEqual(['Buyer', 'One', 'Two']);
    await platform.catalog.saveEntries.mutate({
      entries: [entry('rol_1', 'Eins'), { kind: 'role', id: 'rol_2' }],
    });
    expect((await catalogOf('team_b'))['role']).toEqual([
      { id: 'rol_buyer', name: 'Buyer', icon: null },
      { id: 'rol_1', name: 'Eins', icon: 'x' },
      { id: 'rol_2', name: null, icon: null },
    ]);
    const entries = (await auditOf(api, 'team_a')).filter(
      ({ action }) => action === 'catalog.saved',
    );
    expect(entries).toEqual([
      {
        ...ACTOR,
        action: 'catalog.saved',
        target_id: 'team_a',
        details: { entry_ids: ['rol_own'] },
      },
    ]);
  });

  test('a rule forbids its combination at once; saving it again changes nothing', async () => {
    const rule = { situation_id: 'sit_cold', personality_id: 'per_tough' };
    const assign = () =>
      api.call(api.key('team_a'), 'POST', '/assignments', {
        body: { member_id: 'mem_a_member', title: 'x', ...rule, industry_id: 'ind_saas' },
      });
    expect((await assign()).status).toBe(201);
    const rules = [rule, { personality_id: 'per_calm', industry_id: 'ind_public' }, rule];
    const codes = await Promise.all(
      [rules, rules.toReversed(), rules].map((each) =>
        codeOf(platform.catalog.saveRules.mutate({ rules: each })),
      ),
    );
    expect(codes).toEqual(['ok', 'ok', 'ok']);
    expect((await assign()).body).toMatchObject({ code: 'kombination_ungueltig' });
    const { rows } = await api.db.pool.query(
      `select count(*)::int as n from catalog_rule where id <> 'rule_sandbox'`,
    );
    expect(rows).toEqual([{ n: 2 }]);
    const one = platform.catalog.saveRules.mutate({ rules: [{ situation_id: 'sit_cold' }] });
    expect(await codeOf(one)).toBe('validation_error');
  });

  test('saves of the same entries at once, in different orders, all succeed', async () => {
    const entries = Array.from({ length: 50 }, (_, index) => ({
      kind: 'industry' as const,
      id: `ind_${index}`,
    }));
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        codeOf(
          platform.catalog.saveEntries.mutate({
            entries: index % 2 ? entries : entries.toReversed(),
          }),
        ),
      ),
    );
    expect(new Set(codes)).toEqual(new Set(['ok']));
  });
});
