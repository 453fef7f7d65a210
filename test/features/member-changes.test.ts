import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { auditOf } from '../support/audit.ts';
import { eventsOf } from '../support/platform.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

describe('PATCH /users/{member_id}', () => {
  let api: TestApi;
  beforeAll(async () => {
    const asked = makeMember('a', 'asked', { status: 'invited', role: 'admin', user_id: null });
    const trusted = makeMember('c', 'trusted', { role: 'admin', rights: ['schnittstellen'] });
    api = await startTestApi({
      seed: makeSeed([
        makeTeam('a', { members: [asked] }),
        makeTeam('b'),
        makeTeam('c', { members: [trusted] }),
      ]),
    });
  });
  const patch = (id: string, role: string, key = api.key('team_a')) =>
    api.call(key, 'PATCH', `/users/${id}`, { body: { role } });

  test('200: the role that the member has is no change and logs nothing', async () => {
    expect(await patch('mem_a_member', 'member')).toMatchObject({
      status: 200,
      body: { role: 'member' },
    });
    expect(await auditOf(api, 'team_a')).toEqual([]);
  });

  test('409: the role of the owner never changes', async () => {
    expect(await patch('mem_a_owner', 'member')).toMatchObject({
      status: 409,
      body: { code: 'owner' },
    });
  });

  test('409: the only active admin stays one; an invited admin does not count', async () => {
    expect(await patch('mem_a_admin', 'member')).toMatchObject({
      status: 409,
      body: { code: 'last_admin' },
    });
  });

  test('200: demotes an invited admin', async () => {
    expect(await patch('mem_a_asked', 'member')).toMatchObject({
      status: 200,
      body: { role: 'member', status: 'invited' },
    });
  });

  test('200: an admin who is demoted has no rights, nor after a promotion', async () => {
    const key = api.key('team_c');
    expect((await patch('mem_c_trusted', 'member', key)).status).toBe(200);
    expect((await patch('mem_c_trusted', 'admin', key)).status).toBe(200);
    const { rows } = await api.db.pool.query(
      `select rights from member where team_id = 'team_c' and id = 'mem_c_trusted'`,
    );
    expect(rows).toEqual([{ rights: [] }]);
  });

  test('403: a key made by a member can neither make nor demote admins', async () => {
    const key = api.key('team_a', 'by_member');
    expect(await patch('mem_a_member', 'admin', key)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    });
    expect(await patch('mem_a_admin', 'member', key)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    });
  });

  test('403: a key whose creator is no longer an admin makes no admins', async () => {
    expect((await patch('mem_a_member', 'admin')).status).toBe(200);
    expect((await patch('mem_a_admin', 'member')).status).toBe(200);
    expect(await patch('mem_a_asked', 'admin', api.key('team_a', 'by_admin'))).toMatchObject({
      status: 403,
    });
  });

  test('404: an unknown member, and another team’s', async () => {
    expect((await patch('mem_b_member', 'admin')).body).toMatchObject({ code: 'not_found' });
    expect((await patch('nobody', 'admin')).body).toMatchObject({ code: 'not_found' });
  });
});

describe('DELETE /users/{member_id}', () => {
  let api: TestApi;
  beforeAll(async () => {
    const work = {
      title: 'Work',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    };
    api = await startTestApi({
      seed: makeSeed([
        makeTeam('a', {
          members: [makeMember('a', 'leaver')],
          assignments: [
            { ...work, id: 'asg_open', member_id: 'mem_a_leaver', status: 'open' },
            { ...work, id: 'asg_done', member_id: 'mem_a_leaver', status: 'done' },
            { ...work, id: 'asg_other', member_id: 'mem_a_member', status: 'open' },
          ],
        }),
        makeTeam('b'),
      ]),
    });
  });
  const remove = (id: string, key = api.key('team_a')) => api.call(key, 'DELETE', `/users/${id}`);
  const statusOf = async (id: string) =>
    ((await api.call(api.key('team_a'), 'GET', `/assignments/${id}`)).body as { status: string })
      .status;

  test('200: ends the membership, revokes open assignments, raises one event', async () => {
    expect(await remove('mem_a_leaver')).toMatchObject({ status: 200, body: { ok: true } });
    expect((await api.call(api.key('team_a'), 'GET', '/users/mem_a_leaver')).status).toBe(404);
    expect([
      await statusOf('asg_open'),
      await statusOf('asg_done'),
      await statusOf('asg_other'),
    ]).toEqual(['revoked', 'done', 'open']);
    expect((await remove('mem_a_leaver')).status).toBe(404);
    expect(await eventsOf(api, 'team_a')).toEqual([
      {
        type: 'member.removed',
        data: {
          team_id: 'team_a',
          member_id: 'mem_a_leaver',
          role: 'member',
          user_id: 'usr_a_leaver',
        },
      },
    ]);
  });

  test('409: neither the owner nor the only active admin can be removed', async () => {
    expect(await remove('mem_a_owner')).toMatchObject({ status: 409, body: { code: 'owner' } });
    expect(await remove('mem_a_admin')).toMatchObject({
      status: 409,
      body: { code: 'last_admin' },
    });
  });

  test('403: a key that cannot demote admins cannot remove them', async () => {
    expect(await remove('mem_a_admin', api.key('team_a', 'by_member'))).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    });
  });

  test('403: a key of a demoted admin removes no admin, and says why', async () => {
    const key = api.key('team_b', 'by_admin');
    const make = (id: string, role: string) =>
      api.call(api.key('team_b'), 'PATCH', `/users/${id}`, { body: { role } });
    expect((await make('mem_b_member', 'admin')).status).toBe(200);
    expect((await make('mem_b_admin', 'member')).status).toBe(200);
    expect(await remove('mem_b_member', key)).toMatchObject({
      status: 403,
      body: {
        code: 'insufficient_scope',
        required_scope: 'users:write',
        detail: expect.stringContaining('to remove an admin, use a key created by the owner'),
      },
    });
    expect((await api.call(key, 'GET', '/users/mem_b_member')).status).toBe(200);
    // Anybody else it does remove.
    expect((await remove('mem_b_admin', key)).status).toBe(200);
  });

  test('404: another team’s member stays', async () => {
    expect((await remove('mem_b_member')).status).toBe(404);
    expect((await api.call(api.key('team_b'), 'GET', '/users/mem_b_member')).status).toBe(200);
  });
});
