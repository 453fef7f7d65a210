import { beforeAll, describe, expect, test } from 'vitest';
import {
  createCall,
  loadTestSeed,
  startApiProcess,
  startTestApi,
  type TestApi,
} from '../support/api.ts';
import {
  appAs,
  appAsMember,
  appAsPlatform,
  appWith,
  codeOf,
  openSession,
  tokenOf,
} from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  CATALOG,
  makeFullTeam,
  makeMember,
  makeSeed,
  makeTeam,
  memberId,
  userId,
} from '../support/seed.ts';

type App = Awaited<ReturnType<typeof appAsMember>>;

const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};
const GLOBAL_IDS = CATALOG.map(({ id }) => id).toSorted();

const rightsSeed = ['rights', 'demoted', 'again'].map((name) =>
  makeTeam(name, {
    api_keys: [{ name: 'by_second', scopes: 'all', created_by: memberId(name, 'second') }],
    members: [
      makeMember(name, 'second', { role: 'admin' }),
      makeMember(name, 'invited', { role: 'admin', status: 'invited' }),
      makeMember(name, 'gone', { role: 'admin', status: 'ended' }),
    ],
  }),
);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed(
      [
        ...rightsSeed,
        makeFullTeam('privacy', {
          members: Array.from({ length: 5 }, (_, n) => makeMember('privacy', `m${n}`)),
        }),
        ...['policy', 'release', 'list', 'quiet', 'matrix'].map((name) =>
          makeTeam(name, {
            members: [
              makeMember(name, 'invited', { status: 'invited' }),
              makeMember(name, 'gone', { status: 'ended' }),
            ],
          }),
        ),
        makeTeam('vanished', { blocked: ['sit_vanished'] }),
        makeTeam('other'),
      ],
      {
        catalog: [
          ...CATALOG,
          ...['policy', 'release', 'list'].map((team) => ({
            kind: 'situation' as const,
            id: `sit_${team}`,
            name: { de: 'Eigene' },
            team: `team_${team}`,
          })),
          {
            kind: 'personality' as const,
            id: 'rol_buyer',
            name: { en: 'Own buyer' },
            team: 'team_list',
          },
          { kind: 'situation' as const, id: 'sit_foreign', team: 'team_other' },
        ],
      },
    ),
  });
});

const as = (team: string, name: string): Promise<App> => appAsMember(api, team, name);

/** The problem that a call was refused with. */
async function problemOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await call;
  } catch (error) {
    return (error as { data: { problem: Record<string, unknown> } }).data.problem;
  }
  throw new Error('the call was not refused');
}

async function auditOf(
  team: string,
): Promise<{ action: string; target_id: string; details: unknown }[]> {
  const { rows } = await api.db.pool.query(
    `select action, target_id, details from audit_log where team_id = $1 and actor_kind = 'user' order by created_at, id`,
    [`team_${team}`],
  );
  return rows;
}

describe('rights', () => {
  const newKey = (app: App) =>
    codeOf(app.admin.apiKeys.create.mutate({ name: 'made', scopes: ['users:read'] }));
  const grant = async (team: string, name: string) =>
    (await as(team, 'owner')).admin.team.grantRight.mutate({
      member_id: memberId(team, name),
      right: 'schnittstellen',
    });
  const withdraw = async (team: string, name: string) =>
    (await as(team, 'owner')).admin.team.withdrawRight.mutate({
      member_id: memberId(team, name),
      right: 'schnittstellen',
    });

  test('an admin makes keys from the grant on until it is withdrawn, at the very next call', async () => {
    const admin = await as('rights', 'admin');
    const member_id = memberId('rights', 'admin');
    expect(await newKey(admin)).toBe('forbidden');
    expect(await grant('rights', 'admin')).toEqual({ member_id, rights: ['schnittstellen'] });
    expect(await newKey(admin)).toBe('ok');
    expect(await grant('rights', 'admin')).toEqual({ member_id, rights: ['schnittstellen'] });
    const { data } = await admin.admin.team.admins.query({});
    expect(data.find((row) => row.member_id === member_id)).toEqual({
      member_id,
      email: 'admin@rights.test',
      status: 'active',
      rights: ['schnittstellen'],
    });
    expect(data.map((row) => row.member_id).toSorted()).toEqual(
      ['admin', 'invited', 'second'].map((name) => memberId('rights', name)),
    );
    expect(await withdraw('rights', 'admin')).toEqual({ member_id, rights: [] });
    expect(await newKey(admin)).toBe('forbidden');
    expect(await withdraw('rights', 'admin')).toEqual({ member_id, rights: [] });
    const audit = (await auditOf('rights')).filter(({ action }) => action.startsWith('team.'));
    const details = { right: 'schnittstellen' };
    expect(audit).toEqual([
      { action: 'team.right_granted', target_id: member_id, details },
      { action: 'team.right_withdrawn', target_id: member_id, details },
    ]);
  });

  test.each(['member', 'invited', 'owner'])(
    'is not for the %s: only an active admin can be granted it',
    async (name) => {
      expect(await problemOf(grant('rights', name))).toMatchObject({
        code: 'validation_error',
        field: 'member_id',
      });
      expect(await withdraw('rights', name)).toMatchObject({ rights: [] });
    },
  );

  test('people who left, and members of other teams, are unknown', async () => {
    const app = await as('rights', 'owner');
    for (const member_id of [
      memberId('rights', 'gone'),
      memberId('other', 'admin'),
      'mem_unknown',
    ]) {
      const input = { member_id, right: 'schnittstellen' } as const;
      expect(await codeOf(app.admin.team.grantRight.mutate(input))).toBe('not_found');
      expect(await codeOf(app.admin.team.withdrawRight.mutate(input))).toBe('not_found');
    }
  });

  type Role = 'admin' | 'member';
  const member_id = memberId('again', 'admin');
  const byApi = async (role: Role) => {
    const path = `/users/${member_id}`;
    const { body } = await api.call(api.key('team_again', 'by_second'), 'PATCH', path, {
      body: { role },
    });
    return (body as { role: Role }).role;
  };
  const byApp = async (role: Role) =>
    (await (await as('again', 'second')).v1.members.update.mutate({ member_id, role })).role;

  test.each([
    ['an API key that an admin made', byApi],
    ['an admin in the app', byApp],
  ])('are gone with the role, and do not come back with it: changed by %s', async (_by, change) => {
    const token = await tokenOf({
      kind: 'user',
      userId: userId('again', 'admin'),
      teamId: 'team_again',
    });
    const session = appWith(api, (await openSession(api, token)).headers);
    const makeKey = () =>
      codeOf(
        session.admin.apiKeys.create.mutate({ name: `by ${change.name}`, scopes: ['users:read'] }),
      );
    const rights = async () => {
      const { data } = await (await as('again', 'owner')).admin.team.admins.query({});
      return data.find((row) => row.member_id === member_id)?.rights;
    };
    await grant('again', 'admin');
    expect(await rights()).toEqual(['schnittstellen']);
    expect(await change('member')).toBe('member');
    expect([await rights(), await makeKey()]).toEqual([undefined, 'forbidden']);
    expect(await change('admin')).toBe('admin');
    expect([await rights(), await makeKey()]).toEqual([[], 'forbidden']);
    await grant('again', 'admin');
    expect(await makeKey()).toBe('ok');
  });

  test('count for admins only, even where they are stored for a member', async () => {
    const set = (rights: string[]) =>
      api.db.pool.query('update member set rights = $1 where id = $2', [
        rights,
        memberId('rights', 'member'),
      ]);
    await set(['schnittstellen']);
    expect(await newKey(await as('rights', 'member'))).toBe('forbidden');
    await set([]);
  });

  test('with the role admin goes what the right allows', async () => {
    await grant('demoted', 'admin');
    const app = await as('demoted', 'admin');
    await api.call(api.key('team_demoted'), 'PATCH', `/users/${memberId('demoted', 'admin')}`, {
      body: { role: 'member' },
    });
    expect(await newKey(app)).toBe('forbidden');
    expect(await codeOf(app.admin.apiKeys.list.query({}))).toBe('forbidden');
  });
});

describe('privacy', () => {
  test('the switches show in the API at the next request', async () => {
    const app = await as('privacy', 'admin');
    const email = async () => {
      const { body } = await api.call(
        api.key('team_privacy'),
        'GET',
        `/users/${memberId('privacy', 'member')}`,
      );
      return (body as { email?: string }).email;
    };
    const trainings = async () =>
      (await api.call(api.key('team_privacy'), 'GET', '/trainings')).status;
    expect(await app.admin.team.privacy.get.query({})).toEqual({
      member_detail_enabled: true,
      leaderboard_enabled: true,
    });
    expect([await email(), await trainings()]).toEqual(['member@privacy.test', 200]);
    const off = { member_detail_enabled: false, leaderboard_enabled: true };
    expect(await app.admin.team.privacy.set.mutate({ member_detail_enabled: false })).toEqual(off);
    expect([await email(), await trainings()]).toEqual([undefined, 403]);
    expect((await app.admin.team.admins.query({})).data[0]).not.toHaveProperty('email');
    expect(await app.admin.team.privacy.set.mutate({ leaderboard_enabled: false })).toEqual({
      member_detail_enabled: false,
      leaderboard_enabled: false,
    });
    await app.admin.team.privacy.set.mutate({ member_detail_enabled: true });
    expect([await email(), await trainings()]).toEqual(['member@privacy.test', 200]);
    expect(await auditOf('privacy')).toEqual(
      [
        { member_detail_enabled: false },
        { leaderboard_enabled: false },
        { member_detail_enabled: true },
      ].map((details) => ({ action: 'team.privacy_changed', target_id: 'team_privacy', details })),
    );
  });

  test('two admins who set one switch each do not undo each other', async () => {
    const app = await as('privacy', 'owner');
    for (let round = 0; round < 10; round += 1) {
      const value = round % 2 === 0;
      await Promise.all([
        app.admin.team.privacy.set.mutate({ member_detail_enabled: value }),
        app.admin.team.privacy.set.mutate({ leaderboard_enabled: value }),
      ]);
      expect(await app.admin.team.privacy.get.query({})).toEqual({
        member_detail_enabled: value,
        leaderboard_enabled: value,
      });
    }
  });

  test('a switch of one process counts at the next request on another', async () => {
    const database = await createTestDatabase();
    const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const [one, two] = await Promise.all([
      startApiProcess(database.url),
      startApiProcess(database.url),
    ]);
    const app = await appAsMember(one, 'a', 'owner');
    const call = createCall(two.url);
    const statuses = [];
    for (const member_detail_enabled of [false, true, false]) {
      await app.admin.team.privacy.set.mutate({ member_detail_enabled });
      statuses.push(
        (await call(teams['team_a']?.api_keys['full'] ?? '', 'GET', '/trainings')).status,
      );
    }
    expect(statuses).toEqual([403, 200, 403]);
    await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')]);
    await database.drop();
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

  test('what the team’s policy blocks can no longer be assigned, and leaves the catalog, at once', async () => {
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
    expect(await auditOf('policy')).toEqual(
      [
        { added: ['sit_policy', 'sit_cold'], removed: [] },
        { added: [], removed: ['sit_cold'] },
        { added: [], removed: ['sit_policy'] },
      ].map((details) => ({ action: 'team.policy_changed', target_id: 'team_policy', details })),
    );
  });

  test('a member’s policy blocks for this member only', async () => {
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
    expect(await auditOf('quiet')).toEqual([
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

  test('names the id that is unknown, another team’s own entry included, and changes nothing', async () => {
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

  test('an entry that has left the catalog may stay blocked, and be unblocked, but not come back', async () => {
    const { policy } = (await as('vanished', 'owner')).admin.team;
    const both = ['sit_cold', 'sit_vanished'];
    expect(await policy.set.mutate({ blocked: both })).toEqual({ blocked: both });
    expect(await policy.set.mutate({ blocked: ['sit_cold'] })).toEqual({ blocked: ['sit_cold'] });
    expect(await codeOf(policy.set.mutate({ blocked: both }))).toBe('validation_error');
  });

  test('the policy of somebody who left or belongs to another team is unknown', async () => {
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

  test('lists that are set at the same time leave one of them, never a mixture', async () => {
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
  test('everything, a list, or nothing: what is not released leaves the catalog and cannot be assigned', async () => {
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
    expect(await auditOf('release')).toEqual(
      [
        { all: false, added: ['per_calm', 'ind_saas'], removed: [] },
        { all: false, added: [], removed: some },
        { all: true, added: [], removed: [] },
      ].map((details) => ({ action: 'team.release_changed', target_id: 'team_release', details })),
    );
  });

  test.each(['sit_nowhere', 'sit_foreign', 'sit_release'])(
    'names %s, which is no global entry',
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

describe('catalog', () => {
  test('shows every entry with what keeps the team from using it', async () => {
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

  test('comes page by page, and by kind', async () => {
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

describe('who may', () => {
  const READS = [
    'admins',
    'privacy.get',
    'policy.get',
    'memberPolicy.get',
    'release.get',
    'catalog',
  ];
  const WRITES = ['privacy.set', 'policy.set', 'memberPolicy.set', 'release.set'];
  const RIGHTS = ['grantRight', 'withdrawRight'];

  const attempts = ({ admin: { team } }: App): Record<string, Promise<unknown>> => {
    const member_id = memberId('matrix', 'admin');
    return {
      admins: team.admins.query({}),
      'privacy.get': team.privacy.get.query({}),
      'policy.get': team.policy.get.query({}),
      'memberPolicy.get': team.memberPolicy.get.query({ member_id }),
      'release.get': team.release.get.query({}),
      catalog: team.catalog.query({}),
      'privacy.set': team.privacy.set.mutate({}),
      'policy.set': team.policy.set.mutate({ blocked: [] }),
      'memberPolicy.set': team.memberPolicy.set.mutate({ member_id, blocked: [] }),
      'release.set': team.release.set.mutate({ released: 'all' }),
      grantRight: team.grantRight.mutate({ member_id, right: 'schnittstellen' }),
      withdrawRight: team.withdrawRight.mutate({ member_id, right: 'schnittstellen' }),
    };
  };
  const codesOf = async (app: App) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(attempts(app)).map(async ([name, call]) => [name, await codeOf(call)]),
      ),
    );
  const each = (procedures: readonly string[], code: string) =>
    Object.fromEntries(procedures.map((name) => [name, code]));
  const all = (code: string) => each([...READS, ...WRITES, ...RIGHTS], code);

  test('admins set everything but rights, which are the owner’s to give; nobody else does anything', async () => {
    expect(await codesOf(await as('matrix', 'owner'))).toEqual(all('ok'));
    expect(await codesOf(await as('matrix', 'admin'))).toEqual({
      ...all('ok'),
      ...each(RIGHTS, 'forbidden'),
    });
    expect(await codesOf(await as('matrix', 'member'))).toEqual(all('forbidden'));
    expect(await codesOf(await appAsPlatform(api))).toEqual(all('forbidden'));
    expect(await codesOf(appAs(api, null))).toEqual(all('unauthorized'));
    expect(await codesOf(appAs(api, api.key('team_matrix')))).toEqual(all('unauthorized'));
  });

  test('a misspelt setting is refused, never lost', async () => {
    const { privacy } = (await as('matrix', 'owner')).admin.team;
    const misspelt = { member_details_enabled: false } as Record<string, boolean>;
    expect(await problemOf(privacy.set.mutate(misspelt))).toMatchObject({
      code: 'validation_error',
      errors: [{ path: 'input.member_details_enabled' }],
    });
  });
});
