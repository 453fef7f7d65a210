import { describe, expect, test } from 'vitest';
import { appAsMember, codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { api, eventsOf, platform, usePlatform } from '../support/platform.ts';
import { makeMember, makeTeam, memberId, userId } from '../support/seed.ts';

const asked = makeMember('hand', 'asked', { status: 'invited' });
const left = makeMember('hand', 'left', { status: 'ended' });
usePlatform(
  [
    makeTeam('a'),
    makeTeam('small', { seats: 3 }),
    makeTeam('hand', { members: [asked, left] }),
    makeTeam('wanted', { members: [makeMember('wanted', 'other')] }),
  ],
  'billing',
);

const creation = (id: string, fields: object = {}) => ({
  team_id: id,
  name: 'New',
  owner: { user_id: `usr_${id}`, email: `owner@${id.replaceAll('_', '-')}.test` },
  ...fields,
});

async function readTeam(id: string): Promise<Record<string, unknown>> {
  const { rows } = await api.db.pool.query(
    `select t.plan, t.seats, t.status, t.language, t.rate_limit_per_min,
       m.role, m.status as owner_status, m.user_id, m.email, m.rights,
       (select count(*)::int from member where team_id = t.id) as members
     from team t
     join member m on m.team_id = t.id
     where t.id = $1`,
    [id],
  );
  return rows[0] ?? {};
}

describe('creating a team', () => {
  test('makes the team with an active owner, who may create keys', async () => {
    const answer = await platform.teams.create.mutate(
      creation('team_new', { seats: 7, plan: 'enterprise' }),
    );
    expect(answer).toEqual({
      team_id: 'team_new',
      owner_member_id: expect.stringMatching(/^mem_/),
    });
    expect(await readTeam('team_new')).toEqual({
      plan: 'enterprise',
      seats: 7,
      status: 'active',
      language: 'de',
      rate_limit_per_min: 600,
      role: 'owner',
      owner_status: 'active',
      user_id: 'usr_team_new',
      email: 'owner@team-new.test',
      rights: ['schnittstellen'],
      members: 1,
    });
    const joined = {
      member_id: answer.owner_member_id,
      role: 'owner',
      user_id: 'usr_team_new',
      team_id: 'team_new',
    };
    expect(await eventsOf(api, 'team_new')).toEqual([{ type: 'member.joined', data: joined }]);
    expect(await auditOf(api, 'team_new')).toEqual([
      {
        actor_kind: 'platform',
        actor_id: 'billing',
        action: 'team.created',
        target_id: 'team_new',
        details: { owner_member_id: expect.stringMatching(/^mem_/) },
      },
    ]);
  });

  test('again with the same input returns the same; another input is a conflict', async () => {
    const input = creation('team_again', {
      owner: { member_id: 'mem_mine', user_id: 'usr_x', email: 'x@y.test' },
    });
    const first = await platform.teams.create.mutate(input);
    expect(first.owner_member_id).toBe('mem_mine');
    await platform.teams.update.mutate({ team_id: 'team_again', name: 'Renamed', seats: 99 });
    expect(await platform.teams.create.mutate({ ...input, plan: 'team' })).toEqual(first);
    expect(await codeOf(platform.teams.create.mutate({ ...input, seats: 99 }))).toBe('conflict');
    expect(await codeOf(platform.teams.create.mutate(creation('team_a')))).toBe('conflict');
    expect(await readTeam('team_again')).toMatchObject({ seats: 99, members: 1 });
    expect(await eventsOf(api, 'team_again')).toHaveLength(1);
  });

  test('may use the ids of members and people of other teams', async () => {
    const owner = {
      member_id: memberId('a', 'owner'),
      user_id: userId('a', 'owner'),
      email: 'owner@a.test',
    };
    expect(await platform.teams.create.mutate(creation('team_shared', { owner }))).toEqual({
      team_id: 'team_shared',
      owner_member_id: owner.member_id,
    });
    expect(await readTeam('team_shared')).toMatchObject({ role: 'owner', members: 1 });
  });

  test('at once makes it once: same input, same answer; another input is a conflict', async () => {
    const same = await Promise.all(
      Array.from({ length: 8 }, () => platform.teams.create.mutate(creation('team_race'))),
    );
    expect(new Set(same.map((answer) => answer.owner_member_id)).size).toBe(1);
    expect(await readTeam('team_race')).toMatchObject({ members: 1 });
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, seats) =>
        codeOf(platform.teams.create.mutate(creation('team_race2', { seats }))),
      ),
    );
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(7);
    expect(await eventsOf(api, 'team_race2')).toHaveLength(1);
  });
});

describe('changing a team', () => {
  test('takes effect at the next request of its keys', async () => {
    const get = () => api.call(api.key('team_small'), 'GET', '/me');
    const invite = (email: string) =>
      api.call(api.key('team_small'), 'POST', '/users', { body: { email } });
    expect((await invite('four@small.test')).body).toMatchObject({ code: 'seat_limit_reached' });
    const changed = await platform.teams.update.mutate({
      team_id: 'team_small',
      seats: 4,
      plan: 'enterprise',
    });
    expect(changed).toMatchObject({
      id: 'team_small',
      seats: 4,
      plan: 'enterprise',
      status: 'active',
    });
    expect((await invite('four@small.test')).status).toBe(201);
    expect((await get()).body).toMatchObject({ kind: 'enterprise' });
    await platform.teams.update.mutate({ team_id: 'team_small', rate_limit_per_min: 77 });
    expect((await get()).body).toMatchObject({ rate_limit_per_min: 77 });
    await platform.teams.update.mutate({ team_id: 'team_small', status: 'suspended' });
    expect((await get()).body).toMatchObject({ code: 'api_disabled' });
    await platform.teams.update.mutate({ team_id: 'team_small', status: 'active', language: 'en' });
    expect((await get()).status).toBe(200);
  });

  test('to the same values logs nothing', async () => {
    const before = await auditOf(api, 'team_a');
    await platform.teams.update.mutate({ team_id: 'team_a', plan: 'team' });
    await platform.teams.update.mutate({ team_id: 'team_a' });
    expect(await auditOf(api, 'team_a')).toEqual(before);
  });
});

describe('handing a team over', () => {
  const transfer = (team: string, name: string) =>
    platform.teams.transferOwnership.mutate({
      team_id: `team_${team}`,
      member_id: memberId(team, name),
    });
  const standing = async (team: string) => {
    const { rows } = await api.db.pool.query<{ id: string; role: string; rights: string[] }>(
      `select id, role, rights
       from member
       where team_id = $1 and role <> 'member' and status <> 'ended'`,
      [`team_${team}`],
    );
    return Object.fromEntries(rows.map(({ id, role, rights }) => [id, [role, ...rights]]));
  };

  test('makes the member the owner and the owner an admin, at once and once', async () => {
    expect(await transfer('hand', 'member')).toEqual({
      team_id: 'team_hand',
      owner_member_id: memberId('hand', 'member'),
    });
    expect(await standing('hand')).toEqual({
      [memberId('hand', 'member')]: ['owner', 'schnittstellen'],
      [memberId('hand', 'owner')]: ['admin'],
      [memberId('hand', 'admin')]: expect.arrayContaining(['admin']),
    });
    const before = await auditOf(api, 'team_hand');
    expect(before).toEqual([
      {
        actor_kind: 'platform',
        actor_id: 'billing',
        action: 'team.ownership_transferred',
        target_id: memberId('hand', 'member'),
        details: { from: memberId('hand', 'owner') },
      },
    ]);
    await transfer('hand', 'member');
    expect(await auditOf(api, 'team_hand')).toEqual(before);
    const right = { member_id: memberId('hand', 'admin'), right: 'schnittstellen' as const };
    const grant = async (name: string) =>
      codeOf((await appAsMember(api, 'hand', name)).admin.team.grantRight.mutate(right));
    expect([await grant('owner'), await grant('member')]).toEqual(['forbidden', 'ok']);
  });

  test('is refused to an invited, a former and an unknown member', async () => {
    const before = await standing('hand');
    expect(await codeOf(transfer('hand', 'asked'))).toBe('validation_error');
    expect(await codeOf(transfer('hand', 'left'))).toBe('not_found');
    expect(await codeOf(transfer('hand', 'nobody'))).toBe('not_found');
    expect(await codeOf(transfer('nowhere', 'member'))).toBe('not_found');
    expect(await standing('hand')).toEqual(before);
  });

  test('to several at once leaves one owner', async () => {
    const codes = await Promise.all(
      ['member', 'admin', 'other', 'owner'].map((name) => codeOf(transfer('wanted', name))),
    );
    expect(codes).toEqual(['ok', 'ok', 'ok', 'ok']);
    const roles = Object.values(await standing('wanted')).map(([role]) => role);
    expect(roles.filter((role) => role === 'owner')).toHaveLength(1);
  });
});
