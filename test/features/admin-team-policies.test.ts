import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { auditOfUsers } from '../support/audit.ts';
import { untilWaiting } from '../support/locks.ts';
import { problemOf } from '../support/problems.ts';
import { CATALOG, makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};
const GLOBAL_IDS = CATALOG.map(({ id }) => id).toSorted();

const makeSituation = (team: string) => ({
  kind: 'situation' as const,
  id: `sit_${team}`,
  name: { de: 'Eigene' },
  team: `team_${team}`,
});

let api: TestApi;
beforeAll(async () => {
  const teams = ['policy', 'release', 'list', 'quiet', 'matrix', 'two', 'long'].map((name) =>
    makeTeam(name, {
      members: [
        makeMember(name, 'invited', { status: 'invited' }),
        makeMember(name, 'gone', { status: 'ended' }),
      ],
    }),
  );
  const catalog = [
    ...CATALOG,
    ...['policy', 'release', 'list'].map(makeSituation),
    {
      kind: 'personality' as const,
      id: 'rol_buyer',
      name: { en: 'Own buyer' },
      team: 'team_list',
    },
    { kind: 'situation' as const, id: 'sit_foreign', team: 'team_other' },
  ];
  const vanished = makeTeam('vanished', { blocked: ['sit_vanished'] });
  api = await startTestApi({
    seed: makeSeed([...teams, vanished, makeTeam('other')], { catalog }),
  });
});

const as = (team: string, name: string) => appAsMember(api, team, name);

test('a list that another admin has changed since it was read is not set', async () => {
  const { policy, memberPolicy, release } = (await as('two', 'admin')).admin.team;
  const who = { member_id: memberId('two', 'member') };
  const [one, two] = [['sit_cold'], ['per_calm']];
  expect(await policy.set.mutate({ blocked: one, was: [] })).toEqual({ blocked: one });
  expect(await codeOf(policy.set.mutate({ blocked: two, was: [] }))).toBe('precondition_failed');
  expect(await policy.get.query({})).toEqual({ blocked: one });
  expect(await memberPolicy.set.mutate({ ...who, blocked: one, was: [] })).toEqual({
    blocked: one,
  });
  expect(await codeOf(memberPolicy.set.mutate({ ...who, blocked: two, was: [] }))).toBe(
    'precondition_failed',
  );
  const both = [...one, ...two];
  expect(await release.set.mutate({ released: both, was: 'all' })).toMatchObject({});
  for (const was of ['all' as const, one, []])
    expect(await codeOf(release.set.mutate({ released: two, was }))).toBe('precondition_failed');
  // Their order does not count.
  expect(await release.set.mutate({ released: 'all', was: both.toReversed() })).toEqual({
    released: 'all',
  });
});

describe('policies', () => {
  const assign = async (team: string, name: string, combination = COMBINATION) => {
    const body = { member_id: memberId(team, name), title: 'Practise', ...combination };
    const { status, body: answer } = await api.call(
      api.key(`team_${team}`),
      'POST',
      '/assignments',
      { body },
    );
    return status === 201 ? 'ok' : (answer as { code: string }).code;
  };

  test('an entry that the team blocks leaves the catalog and cannot be assigned', async () => {
    const { policy } = (await as('policy', 'admin')).admin.team;
    const situations = async () => {
      const { body } = await api.call(api.key('team_policy'), 'GET', '/catalog');
      return (body as { situation: { id: string }[] }).situation.map(({ id }) => id).toSorted();
    };
    expect(await policy.get.query({})).toEqual({ blocked: [] });
    expect(await assign('policy', 'member')).toBe('ok');
    const both = { blocked: ['sit_cold', 'sit_policy'] };
    expect(await policy.set.mutate({ blocked: ['sit_policy', 'sit_cold', 'sit_cold'] })).toEqual(
      both,
    );
    expect(await assign('policy', 'member')).toBe('vorgabe_gesperrt');
    expect(await situations()).toEqual(['sit_renewal']);
    expect(await policy.set.mutate({ blocked: ['sit_policy'] })).toEqual({
      blocked: ['sit_policy'],
    });
    expect(await policy.get.query({})).toEqual({ blocked: ['sit_policy'] });
    expect(await assign('policy', 'member')).toBe('ok');
    await policy.set.mutate({ blocked: ['sit_policy'] });
    expect(await policy.set.mutate({ blocked: [] })).toEqual({ blocked: [] });
    expect(await auditOfUsers(api, 'team_policy')).toEqual(
      [
        { added: ['sit_policy', 'sit_cold'], removed: [] },
        { added: [], removed: ['sit_cold'] },
        { added: [], removed: ['sit_policy'] },
      ].map((details) => ({ action: 'team.policy_changed', target_id: 'team_policy', details })),
    );
  });

  test('a member’s policy blocks entries for this member only', async () => {
    const { memberPolicy } = (await as('quiet', 'admin')).admin.team;
    const member_id = memberId('quiet', 'member');
    expect(await memberPolicy.set.mutate({ member_id, blocked: ['ind_saas'] })).toEqual({
      blocked: ['ind_saas'],
    });
    expect(await memberPolicy.get.query({ member_id })).toEqual({ blocked: ['ind_saas'] });
    expect(await assign('quiet', 'member')).toBe('vorgabe_gesperrt');
    expect(await assign('quiet', 'admin')).toBe('ok');
    expect(await assign('quiet', 'member', { ...COMBINATION, industry_id: 'ind_public' })).toBe(
      'ok',
    );
    expect(await memberPolicy.set.mutate({ member_id, blocked: [] })).toEqual({ blocked: [] });
    expect(await assign('quiet', 'member')).toBe('ok');
    const invited = memberId('quiet', 'invited');
    await memberPolicy.set.mutate({ member_id: invited, blocked: ['per_calm'] });
    expect(await assign('quiet', 'invited')).toBe('vorgabe_gesperrt');
    expect(await auditOfUsers(api, 'team_quiet')).toEqual([
      {
        action: 'member.policy_changed',
        target_id: member_id,
        details: { added: ['ind_saas'], removed: [] },
      },
      {
        action: 'member.policy_changed',
        target_id: member_id,
        details: { added: [], removed: ['ind_saas'] },
      },
      {
        action: 'member.policy_changed',
        target_id: invited,
        details: { added: ['per_calm'], removed: [] },
      },
    ]);
  });

  test('unblocking one entry of a member leaves their others and other members', async () => {
    const { memberPolicy } = (await as('list', 'admin')).admin.team;
    const [member_id, other] = [memberId('list', 'member'), memberId('list', 'admin')];
    const three = ['ind_saas', 'per_calm', 'sit_cold'];
    await memberPolicy.set.mutate({ member_id, blocked: three.toReversed() });
    await memberPolicy.set.mutate({ member_id: other, blocked: three });
    expect(await memberPolicy.get.query({ member_id })).toEqual({ blocked: three });
    await memberPolicy.set.mutate({ member_id, blocked: ['per_calm', 'sit_cold'] });
    expect(await memberPolicy.get.query({ member_id })).toEqual({
      blocked: ['per_calm', 'sit_cold'],
    });
    expect(await memberPolicy.get.query({ member_id: other })).toEqual({ blocked: three });
  });

  test('a list with an unknown id changes nothing; the refusal names the id', async () => {
    const { policy, memberPolicy } = (await as('matrix', 'owner')).admin.team;
    const member_id = memberId('matrix', 'member');
    for (const unknown of ['sit_nowhere', 'sit_foreign']) {
      const blocked = ['sit_cold', unknown];
      const refusal = {
        code: 'validation_error',
        field: 'blocked',
        detail: `Unknown catalog entry: ${unknown}`,
      };
      expect(await problemOf(policy.set.mutate({ blocked }))).toMatchObject(refusal);
      expect(await problemOf(memberPolicy.set.mutate({ member_id, blocked }))).toMatchObject(
        refusal,
      );
    }
    expect(await policy.get.query({})).toEqual({ blocked: [] });
    expect(await memberPolicy.get.query({ member_id })).toEqual({ blocked: [] });
  });

  test('a blocked entry that left the catalog can be unblocked but not blocked again', async () => {
    const { policy } = (await as('vanished', 'owner')).admin.team;
    const both = ['sit_cold', 'sit_vanished'];
    expect(await policy.set.mutate({ blocked: both })).toEqual({ blocked: both });
    expect(await policy.set.mutate({ blocked: ['sit_cold'] })).toEqual({ blocked: ['sit_cold'] });
    expect(await codeOf(policy.set.mutate({ blocked: both }))).toBe('validation_error');
  });

  test('the policy of somebody who left or belongs to another team is not found', async () => {
    const { memberPolicy } = (await as('quiet', 'owner')).admin.team;
    for (const member_id of [
      memberId('quiet', 'gone'),
      memberId('other', 'member'),
      'mem_unknown',
    ]) {
      expect(await codeOf(memberPolicy.get.query({ member_id }))).toBe('not_found');
      expect(await codeOf(memberPolicy.set.mutate({ member_id, blocked: [] }))).toBe('not_found');
    }
  });

  test('of lists that are set at the same time one remains, never a mixture', async () => {
    const { policy } = (await as('other', 'owner')).admin.team;
    const lists = [GLOBAL_IDS.slice(0, 4), GLOBAL_IDS.slice(2, 6), GLOBAL_IDS.slice(5)];
    for (let round = 0; round < 8; round += 1) {
      await Promise.all(lists.map((blocked) => policy.set.mutate({ blocked: [...blocked] })));
      expect(lists).toContainEqual((await policy.get.query({})).blocked);
    }
    await policy.set.mutate({ blocked: [] });
  });
});

describe('release', () => {
  test('an entry that is not released leaves the catalog and cannot be assigned', async () => {
    const { release } = (await as('release', 'admin')).admin.team;
    const visible = async () => {
      const { body } = await api.call(api.key('team_release'), 'GET', '/catalog');
      const lists = Object.values(body as Record<string, { id: string }[]>);
      return lists.flatMap((entries) => entries.map(({ id }) => id)).toSorted();
    };
    expect(await release.get.query({})).toEqual({ released: 'all' });
    expect(await visible()).toEqual([...GLOBAL_IDS, 'sit_release'].toSorted());
    const some = ['ind_saas', 'per_calm'];
    expect(await release.set.mutate({ released: ['per_calm', 'ind_saas', 'per_calm'] })).toEqual({
      released: some,
    });
    expect(await release.get.query({})).toEqual({ released: some });
    expect(await visible()).toEqual([...some, 'sit_release']);
    const body = { member_id: memberId('release', 'member'), title: 'Practise', ...COMBINATION };
    const refused = await api.call(api.key('team_release'), 'POST', '/assignments', { body });
    expect(refused.body).toMatchObject({
      code: 'kombination_ungueltig',
      dimension: 'situation',
      id: 'sit_cold',
    });
    expect(await release.set.mutate({ released: [] })).toEqual({ released: [] });
    expect(await visible()).toEqual(['sit_release']);
    await release.set.mutate({ released: [] });
    expect(await release.set.mutate({ released: 'all' })).toEqual({ released: 'all' });
    await release.set.mutate({ released: 'all' });
    expect(await visible()).toEqual([...GLOBAL_IDS, 'sit_release'].toSorted());
    expect(await auditOfUsers(api, 'team_release')).toEqual(
      [
        { all: false, added: ['per_calm', 'ind_saas'], removed: [] },
        { all: false, added: [], removed: some },
        { all: true, added: [], removed: [] },
      ].map((details) => ({ action: 'team.release_changed', target_id: 'team_release', details })),
    );
  });

  test.each(['sit_nowhere', 'sit_foreign', 'sit_release'])(
    'refuses %s, which is no global entry, and names it',
    async (unknown) => {
      const { release } = (await as('release', 'owner')).admin.team;
      const before = await release.get.query({});
      expect(
        await problemOf(release.set.mutate({ released: ['sit_cold', unknown] })),
      ).toMatchObject({
        code: 'validation_error',
        field: 'released',
        detail: `Unknown catalog entry: ${unknown}`,
      });
      expect(await release.get.query({})).toEqual(before);
    },
  );
});

test('an entry that is being deleted is not released, and the refusal names it', async () => {
  const { release } = (await as('matrix', 'admin')).admin.team;
  await api.db.pool.query(`insert into catalog_entry (id, kind) values ('sit_brief', 'situation')`);
  const deleting = await api.db.pool.connect();
  await deleting.query(`begin; delete from catalog_entry where id = 'sit_brief'`);
  const refused = problemOf(release.set.mutate({ released: ['sit_cold', 'sit_brief'] }));
  await untilWaiting(api, 1);
  await deleting.query('commit');
  deleting.release();
  expect(await refused).toMatchObject({
    code: 'validation_error',
    detail: 'Unknown catalog entry: sit_brief',
  });
  expect(await release.get.query({})).toEqual({ released: 'all' });
});

test('withdrawing one entry leaves the others released', async () => {
  const { release } = (await as('matrix', 'admin')).admin.team;
  await release.set.mutate({ released: ['ind_saas', 'per_calm', 'sit_cold'] });
  await release.set.mutate({ released: ['ind_saas', 'sit_cold'] });
  expect(await release.get.query({})).toEqual({ released: ['ind_saas', 'sit_cold'] });
  await release.set.mutate({ released: 'all' });
});

describe('catalog', () => {
  test('shows each entry and whether it is own, released and blocked', async () => {
    const { team } = (await as('list', 'owner')).admin;
    await team.release.set.mutate({ released: ['sit_cold', 'per_calm'] });
    await team.policy.set.mutate({ blocked: ['per_calm', 'ind_saas', 'sit_list'] });
    const { data, next_cursor } = await team.catalog.query({});
    expect(next_cursor).toBeNull();
    expect(data.map(({ id }) => id)).toEqual([...GLOBAL_IDS, 'sit_list'].toSorted());
    const flagsOf = Object.fromEntries(
      data.map(({ id, own, released, blocked }) => [id, { own, released, blocked }]),
    );
    expect(flagsOf).toMatchObject({
      sit_cold: { own: false, released: true, blocked: false },
      per_calm: { own: false, released: true, blocked: true },
      ind_saas: { own: false, released: false, blocked: true },
      sit_renewal: { own: false, released: false, blocked: false },
      sit_list: { own: true, released: true, blocked: true },
      rol_buyer: { own: true, released: true, blocked: false },
    });
    expect(data.find(({ id }) => id === 'rol_buyer')).toMatchObject({
      kind: 'personality',
      name: 'Own buyer',
    });
    expect(data.find(({ id }) => id === 'sit_cold')).toMatchObject({
      name: 'Kaltakquise',
      icon: 'phone',
    });
    const usable = data.filter(({ released, blocked }) => released && !blocked).map(({ id }) => id);
    const { body } = await api.call(api.key('team_list'), 'GET', '/catalog');
    const lists = Object.values(body as Record<string, { id: string }[]>);
    expect(usable).toEqual(lists.flatMap((entries) => entries.map(({ id }) => id)).toSorted());
  });

  test('is listed page by page, and by kind', async () => {
    const { catalog } = (await as('list', 'admin')).admin.team;
    const ids: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await catalog.query({ limit: 2, cursor });
      ids.push(...page.data.map(({ id }) => id));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(ids).toEqual([...GLOBAL_IDS, 'sit_list'].toSorted());
    const { data } = await catalog.query({ kind: 'personality' });
    expect(data.map(({ id }) => id)).toEqual(['per_calm', 'per_tough', 'rol_buyer']);
    expect(await codeOf(catalog.query({ cursor: 'nonsense' }))).toBe('validation_error');
  });
});

/** Returns how many values each statement of this process has, from now on. */
function countValues(): number[] {
  const connection = pg.Connection.prototype as unknown as {
    bind: (this: unknown, message: { readonly values?: readonly unknown[] }) => void;
  };
  const { bind } = connection;
  const counts: number[] = [];
  connection.bind = function (message) {
    counts.push(message.values?.length ?? 0);
    bind.call(this, message);
  };
  onTestFinished(() => {
    connection.bind = bind;
  });
  return counts;
}

// With a value for each id, a list of 5,000 stops the process for up to 0.2 s.
test('a long list is one value of a statement, however long it is', async () => {
  const { policy, memberPolicy, release } = (await as('long', 'admin')).admin.team;
  const who = { member_id: memberId('long', 'member') };
  const ids = Array.from({ length: 300 }, (_, n) => `sit_many_${String(n).padStart(3, '0')}`);
  await api.db.pool.query(
    `insert into catalog_entry (id, kind)
     select id, 'situation'
     from unnest($1::text[]) id`,
    [ids],
  );
  onTestFinished(async () => {
    await api.db.pool.query(`delete from catalog_entry where id = any ($1)`, [ids]);
  });
  const none: string[] = [];
  const counts = countValues();
  for (const blocked of [ids, none]) {
    expect(await policy.set.mutate({ blocked })).toEqual({ blocked });
    expect(await memberPolicy.set.mutate({ ...who, blocked })).toEqual({ blocked });
  }
  for (const released of [ids, none])
    expect(await release.set.mutate({ released })).toEqual({ released });
  expect(counts.length).toBeGreaterThan(20);
  expect(Math.max(...counts)).toBeLessThanOrEqual(10);
});
