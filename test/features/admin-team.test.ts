import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, appAsMember, appAsPlatform, appInSession, codeOf } from '../support/app.ts';
import { auditOfUsers } from '../support/audit.ts';
import { problemOf } from '../support/problems.ts';
import { makeFullTeam, makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

type App = Awaited<ReturnType<typeof appAsMember>>;

const rightsTeams = ['rights', 'demoted', 'again'].map((name) =>
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
  const five = Array.from({ length: 5 }, (_, n) => makeMember('privacy', `m${n}`));
  api = await startTestApi({
    seed: makeSeed([
      ...rightsTeams,
      makeFullTeam('privacy', { members: five }),
      makeTeam('matrix'),
      makeTeam('other'),
    ]),
  });
});

const as = (team: string, name: string): Promise<App> => appAsMember(api, team, name);

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

  test('an admin may make keys from the grant until its withdrawal', async () => {
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
    const audit = (await auditOfUsers(api, 'team_rights')).filter(({ action }) =>
      action.startsWith('team.'),
    );
    const details = { right: 'schnittstellen' };
    expect(audit).toEqual([
      { action: 'team.right_granted', target_id: member_id, details },
      { action: 'team.right_withdrawn', target_id: member_id, details },
    ]);
  });

  test.each(['member', 'invited', 'owner'])(
    'are not granted to the %s: only active admins can have them',
    async (name) => {
      expect(await problemOf(grant('rights', name))).toMatchObject({
        code: 'validation_error',
        field: 'member_id',
      });
      expect(await withdraw('rights', name)).toMatchObject({ rights: [] });
    },
  );

  test('people who left and members of other teams are not found', async () => {
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
  ])('are lost with the role and do not return with it: changed by %s', async (_by, change) => {
    const session = await appInSession(api, 'again', 'admin');
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

  test('count for admins only, even if they are stored for a member', async () => {
    const set = (rights: string[]) =>
      api.db.pool.query('update member set rights = $1 where id = $2', [
        rights,
        memberId('rights', 'member'),
      ]);
    await set(['schnittstellen']);
    expect(await newKey(await as('rights', 'member'))).toBe('forbidden');
    await set([]);
  });

  test('a demoted admin may no longer make or list keys', async () => {
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
  test('a switch takes effect at the next request of the REST API', async () => {
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
    expect(await auditOfUsers(api, 'team_privacy')).toEqual(
      [
        { member_detail_enabled: false },
        { leaderboard_enabled: false },
        { member_detail_enabled: true },
      ].map((details) => ({ action: 'team.privacy_changed', target_id: 'team_privacy', details })),
    );
  });

  test('two admins who set one switch each keep both changes', async () => {
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
});

describe('who may do what', () => {
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

  test('admins set everything but rights; only the owner grants those', async () => {
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

  test('a misspelt setting is refused, not ignored', async () => {
    const { privacy } = (await as('matrix', 'owner')).admin.team;
    const misspelt = { member_details_enabled: false } as Record<string, boolean>;
    expect(await problemOf(privacy.set.mutate(misspelt))).toMatchObject({
      code: 'validation_error',
      errors: [{ path: 'input.member_details_enabled' }],
    });
  });
});
