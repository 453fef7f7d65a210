import { describe, expect, test } from 'vitest';
import { codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { api, eventsOf, platform, usePlatform } from '../support/platform.ts';
import { makeMember, makeTeam, makeTraining, memberId, userId } from '../support/seed.ts';

const asked = (team: string, name: string) => makeMember(team, name, { status: 'invited' });

const raced = Array.from({ length: 12 }, (_, index) => asked('race', `asked${index}`));
const history = {
  members: [makeMember('gone', 'left', { status: 'ended' }), asked('gone', 'left2')],
  trainings: [makeTraining('gone', 'trn_gone')],
  assignments: [
    {
      id: 'asg_done',
      member_id: memberId('gone', 'member'),
      status: 'done' as const,
      title: 'Done',
    },
    { id: 'asg_open', member_id: memberId('gone', 'member'), title: 'Open' },
  ],
};
usePlatform([
  makeTeam('a', { members: ['x', 'y', 'z', 'Mail'].map((name) => asked('a', name)) }),
  makeTeam('race', { members: raced }),
  makeTeam('gone', history),
  makeTeam('lone'),
  makeTeam('kept'),
  makeTeam('stays', {
    trainings: [makeTraining('stays', 'trn_stays')],
    assignments: [{ id: 'asg_stays', member_id: memberId('stays', 'member'), title: 'Stays' }],
  }),
  makeTeam('copy', {
    members: ['joins', 'withdrawn'].map((name) => asked('copy', name)),
    assignments: ['joins', 'withdrawn', 'member'].flatMap((name) =>
      (['open', 'done'] as const).map((status) => ({
        id: `asg_copy_${name}_${status}`,
        member_id: memberId('copy', name),
        status,
        title: 'Copied',
      })),
    ),
  }),
  makeTeam('back', {
    members: [
      makeMember('back', 'left', { status: 'ended' }),
      asked('back', 'again'),
      asked('back', 'guest'),
    ],
  }),
]);

const accept = (
  team: string,
  userIdOf: string,
  invitation: { member_id: string } | { email: string },
) => platform.members.accept.mutate({ team_id: `team_${team}`, user_id: userIdOf, ...invitation });

describe('accepting an invitation', () => {
  test('activates the membership for the person, once, without an event', async () => {
    const answer = await accept('a', 'usr_new_x', { member_id: memberId('a', 'x') });
    expect(answer).toEqual({
      id: memberId('a', 'x'),
      user_id: 'usr_new_x',
      role: 'member',
      status: 'active',
      joined_at: expect.any(String),
    });
    expect(await accept('a', 'usr_new_x', { member_id: memberId('a', 'x') })).toEqual(answer);
    expect(await accept('a', 'usr_new_x', { email: 'X@A.test' })).toEqual(answer);
    const rest = await api.call(api.key('team_a'), 'GET', `/users/${memberId('a', 'x')}`);
    expect(rest.body).toMatchObject({ ...answer, email: 'x@a.test' });
    expect(await eventsOf(api, 'team_a')).toEqual([]);
    expect((await auditOf(api, 'team_a')).map(({ action }) => action)).toEqual(['member.accepted']);
  });

  test('finds the invitation by address in any case', async () => {
    expect(await accept('a', 'usr_mail', { email: ' mail@a.TEST ' })).toMatchObject({
      id: memberId('a', 'Mail'),
    });
  });

  test('brings back a person who had left, and brings in one of another team', async () => {
    const again = { member_id: memberId('back', 'again') };
    expect(await accept('back', userId('back', 'left'), again)).toMatchObject({ status: 'active' });
    const guest = { member_id: memberId('back', 'guest') };
    expect(await accept('back', userId('lone', 'member'), guest)).toMatchObject({
      status: 'active',
    });
  });

  test('is refused for another person, a member of the team, and without invitation', async () => {
    await accept('a', 'usr_new_y', { member_id: memberId('a', 'y') });
    expect(await codeOf(accept('a', 'usr_other', { member_id: memberId('a', 'y') }))).toBe(
      'conflict',
    );
    expect(
      await codeOf(accept('a', userId('a', 'member'), { member_id: memberId('a', 'z') })),
    ).toBe('conflict');
    expect(await codeOf(accept('a', 'usr_q', { member_id: 'mem_unknown' }))).toBe('not_found');
    expect(await codeOf(accept('race', 'usr_q', { member_id: memberId('a', 'z') }))).toBe(
      'not_found',
    );
    const neither = platform.members.accept.mutate({ team_id: 'team_a', user_id: 'usr_q' });
    expect(await codeOf(neither)).toBe('validation_error');
  });

  test('of several people exactly one gets it; one person gets exactly one of two', async () => {
    const invitation = { member_id: memberId('race', 'asked0') };
    const persons = await Promise.all(
      Array.from({ length: 6 }, (_, index) => codeOf(accept('race', `usr_p${index}`, invitation))),
    );
    expect(persons.toSorted()).toEqual([...Array<string>(5).fill('conflict'), 'ok']);
    const invitations = await Promise.all(
      [1, 2, 3, 4].map((index) =>
        codeOf(accept('race', 'usr_one', { member_id: memberId('race', `asked${index}`) })),
      ),
    );
    expect(invitations.toSorted()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
  });

  test('at once with its withdrawal: accepts and then removes, or never accepts', async () => {
    for (const index of [5, 6, 7, 8, 9, 10, 11]) {
      const id = memberId('race', `asked${index}`);
      const [code, removed] = await Promise.all([
        codeOf(accept('race', `usr_w${index}`, { member_id: id })),
        api.call(api.key('team_race'), 'DELETE', `/users/${id}`),
      ]);
      expect(removed.status).toBe(200);
      expect(['ok', 'not_found']).toContain(code);
      expect(await codeOf(accept('race', `usr_w${index}`, { member_id: id }))).toBe('not_found');
    }
  });
});

describe('GET /assignments with updated_since', () => {
  const call = (method: string, path: string, body?: object) =>
    api.call(api.key('team_copy'), method, path, body && { body });
  const mine = (name: string) => `asg_copy_${name}`;
  /** The ids of what `change` changes, as who polls finds it. */
  const changedBy = async (change: () => Promise<unknown>): Promise<string[]> => {
    await api.db.pool.query(`update assignment set updated_at = now() - interval '1 h'`);
    const since = new Date(Date.now() - 60_000).toISOString();
    await change();
    const { body } = await call('GET', `/assignments?limit=200&updated_since=${since}`);
    return (body as { data: { id: string }[] }).data.map(({ id }) => id).toSorted();
  };

  test('shows one whose recipient has accepted the invitation', async () => {
    const member_id = memberId('copy', 'joins');
    expect(await changedBy(() => accept('copy', 'usr_joins', { member_id }))).toEqual([
      mine('joins_done'),
      mine('joins_open'),
    ]);
    const { body } = await call('GET', `/assignments/${mine('joins_open')}`);
    expect(body).toMatchObject({ member_user_id: 'usr_joins' });
    expect(await changedBy(() => accept('copy', 'usr_joins', { member_id }))).toEqual([]);
  });

  test('shows one that has lost the address of an invitation, whatever its status', async () => {
    const path = `/users/${memberId('copy', 'withdrawn')}`;
    expect(await changedBy(() => call('DELETE', path))).toEqual([
      mine('withdrawn_done'),
      mine('withdrawn_open'),
    ]);
  });

  test('shows all of a person who was deleted, also after a call that has died', async () => {
    await api.db.pool.query(
      `insert into assignment (team_id, id, member_id, status, title, created_at)
       select 'team_copy', 'asg_many_' || n, $1, 'done', 'Done', '2026-10-01Z'
       from generate_series(1, 1998) n`,
      [memberId('copy', 'member')],
    );
    const remove = () =>
      platform.members.deletePerson.mutate({
        team_id: 'team_copy',
        user_id: userId('copy', 'member'),
      });
    const count = async (): Promise<unknown> => {
      const { rows } = await api.db.pool.query(
        `select count(*)::int as touched, count(distinct member_id)::int as members
         from assignment
         where updated_at > now() - interval '1 min'`,
      );
      return rows[0];
    };
    for (const _ of ['first', 'again']) {
      expect(await changedBy(remove)).toHaveLength(200);
      expect(await count()).toEqual({ touched: 2000, members: 1 });
    }
  });
});

describe('deleting a person', () => {
  const remove = (team: string, name: string) =>
    platform.members.deletePerson.mutate({ team_id: `team_${team}`, user_id: userId(team, name) });
  const emailOf = async (id: string) => {
    const { rows } = await api.db.pool.query(
      `select email, status from member where team_id = 'team_gone' and id = $1`,
      [id],
    );
    return rows[0];
  };

  test('ends the membership like a removal, deletes the address, keeps the figures', async () => {
    const before = await api.call(api.key('team_gone'), 'GET', '/analytics/team');
    expect(before.body).toMatchObject({ totals: { scored: 1 } });
    await remove('gone', 'member');
    expect(await emailOf(memberId('gone', 'member'))).toEqual({ email: null, status: 'ended' });
    const events = await eventsOf(api, 'team_gone');
    expect(events.map(({ type }) => type)).toEqual(['member.removed']);
    const assignments = await api.call(api.key('team_gone'), 'GET', '/assignments');
    const { data } = assignments.body as {
      data: { id: string; status: string; member_email: string | null }[];
    };
    expect(
      Object.fromEntries(data.map(({ id, status, member_email }) => [id, [status, member_email]])),
    ).toEqual({
      asg_done: ['done', null],
      asg_open: ['revoked', null],
    });
    const { rows } = await api.db.pool.query(
      `select scored from analytics_person where team_id = 'team_gone'`,
    );
    expect(rows).toEqual([{ scored: 1 }]);
    const { rows: texts } = await api.db.pool.query(
      `select (select string_agg(m::text, ' ') from member m)
       || (select string_agg(a::text, ' ') from audit_log a)
       || (select string_agg(e::text, ' ') from event e) as all`,
    );
    expect(texts[0].all).not.toContain('member@gone.test');
    expect((await auditOf(api, 'team_gone')).map(({ action }) => action)).toEqual([
      'member.removed',
      'person.deleted',
    ]);
  });

  test('keeps the address in the assignments of who left, until then', async () => {
    const key = api.key('team_stays');
    const path = '/assignments/asg_stays';
    const shown = async () => {
      const one = await api.call(key, 'GET', path);
      const { body } = await api.call(key, 'GET', '/assignments');
      const [listed] = (body as { data: { member_email: string | null }[] }).data;
      const { member_email, status } = one.body as { member_email: string; status: string };
      expect(listed).toEqual(one.body);
      return [status, member_email];
    };
    const isListed = async () => {
      const { body } = await api.call(key, 'GET', '/trainings');
      return (body as { data: unknown[] }).data.length > 0;
    };
    expect([await shown(), await isListed()]).toEqual([['open', 'member@stays.test'], true]);
    await api.call(key, 'DELETE', `/users/${memberId('stays', 'member')}`);
    expect([await shown(), await isListed()]).toEqual([['revoked', 'member@stays.test'], false]);
    await remove('stays', 'member');
    expect([await shown(), await isListed()]).toEqual([['revoked', null], false]);
  });

  test('again changes nothing; another person may use the address', async () => {
    const before = await auditOf(api, 'team_gone');
    await remove('gone', 'member');
    expect(await auditOf(api, 'team_gone')).toEqual(before);
    const body = { email: 'member@gone.test' };
    expect((await api.call(api.key('team_gone'), 'POST', '/users', { body })).status).toBe(201);
  });

  test('deletes the address from ended memberships and from open invitations', async () => {
    await api.db.pool.query(
      `update member
       set email = 'LEFT@gone.test'
       where team_id = 'team_gone' and id = '${memberId('gone', 'left2')}'`,
    );
    await remove('gone', 'left');
    expect(await emailOf(memberId('gone', 'left'))).toEqual({ email: null, status: 'ended' });
    expect(await emailOf(memberId('gone', 'left2'))).toEqual({ email: null, status: 'ended' });
  });

  test('leaves the address to another person who had it before', async () => {
    await api.db.pool.query(
      `update member
       set email = 'gone@shared.test'
       where team_id = 'team_back' and id = any ($1)`,
      [[memberId('back', 'left'), memberId('back', 'member')]],
    );
    await remove('back', 'member');
    const { rows } = await api.db.pool.query(
      `select email from member where team_id = 'team_back' and id = $1`,
      [memberId('back', 'left')],
    );
    expect(rows).toEqual([{ email: 'gone@shared.test' }]);
  });

  test('is refused for the owner, the last admin and a person unknown to the team', async () => {
    expect(await codeOf(remove('lone', 'owner'))).toBe('owner');
    expect(await codeOf(remove('lone', 'admin'))).toBe('last_admin');
    expect(await codeOf(remove('lone', 'nobody'))).toBe('not_found');
    const { rows } = await api.db.pool.query(
      `select count(*)::int as live
       from member
       where team_id = 'team_lone' and status = 'active' and email is not null`,
    );
    expect(rows).toEqual([{ live: 3 }]);
  });

  test('reaches the owner and the last admin once the team has ended', async () => {
    const owner = { user_id: userId('done', 'owner'), email: 'owner@done.test' };
    const creation = { team_id: 'team_done', name: 'Done', owner };
    const { owner_member_id } = await platform.teams.create.mutate(creation);
    expect(await codeOf(remove('done', 'owner'))).toBe('owner');
    await platform.teams.update.mutate({ team_id: 'team_done', status: 'ended' });
    await remove('done', 'owner');
    const { rows } = await api.db.pool.query(
      `select m.id, m.status, m.email, t.creation_hash
       from member m
       join team t on t.id = m.team_id
       where m.team_id = 'team_done'`,
    );
    expect(rows).toEqual([
      { id: owner_member_id, status: 'ended', email: null, creation_hash: null },
    ]);
    expect((await eventsOf(api, 'team_done')).at(-1)).toMatchObject({
      type: 'member.removed',
      data: { role: 'owner' },
    });
    expect(await codeOf(platform.teams.create.mutate(creation))).toBe('conflict');

    await platform.teams.update.mutate({ team_id: 'team_lone', status: 'ended' });
    await remove('lone', 'admin');
    await remove('lone', 'owner');
    const { rows: left } = await api.db.pool.query(
      `select id from member where team_id = 'team_lone' and email is not null`,
    );
    expect(left).toEqual([{ id: memberId('lone', 'member') }]);
    // If the team begins again, somebody can become its owner.
    await platform.teams.update.mutate({ team_id: 'team_lone', status: 'active' });
    const next = { team_id: 'team_lone', member_id: memberId('lone', 'member') };
    await platform.teams.transferOwnership.mutate(next);
    expect((await api.call(api.key('team_lone'), 'GET', '/users')).body).toMatchObject({
      data: [{ id: memberId('lone', 'member'), role: 'owner' }],
    });
  });

  test('forgets the creation with its owner, whose clock may have been ahead', async () => {
    const owner = { user_id: userId('ahead', 'owner'), email: 'owner@ahead.test' };
    const creation = { team_id: 'team_ahead', name: 'Ahead', owner };
    const created = await platform.teams.create.mutate(creation);
    // As a process writes it whose clock is right.
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select id, 'mem_ahead_early', 'early@ahead.test', 'member', 'invited',
         created_at - interval '1.5 s'
       from team
       where id = 'team_ahead'`,
    );
    expect(await platform.teams.create.mutate(creation)).toEqual(created);
    await platform.teams.update.mutate({ team_id: 'team_ahead', status: 'ended' });
    await remove('ahead', 'owner');
    const { rows } = await api.db.pool.query(
      `select creation_hash from team where id = 'team_ahead'`,
    );
    expect(rows).toEqual([{ creation_hash: null }]);
  });

  test('is not needed: who was removed is in no repeated response any more', async () => {
    const invite = () =>
      api.call(api.key('team_kept'), 'POST', '/users', {
        body: { email: 'removed@kept.test' },
        headers: { 'idempotency-key': 'removed' },
      });
    const { id } = (await invite()).body as { id: string };
    await accept('kept', userId('kept', 'removed'), { member_id: id });
    await api.call(api.key('team_kept'), 'DELETE', `/users/${id}`);
    const again = await invite();
    expect(again).toMatchObject({ status: 201, body: { id } });
    expect(again.body).not.toHaveProperty('email');
  });

  test('deletes the address from the responses that are kept for a repeated call', async () => {
    const post = (path: string, body: object) =>
      api.call(api.key('team_kept'), 'POST', path, {
        body,
        headers: { 'idempotency-key': path },
      });
    const invite = () => post('/users', { email: 'kept@kept.test' });
    const { id } = (await invite()).body as { id: string };
    const assign = () =>
      post('/assignments', {
        member_id: id,
        title: 'T',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      });
    expect((await assign()).body).toMatchObject({ member_email: 'kept@kept.test' });
    await accept('kept', userId('kept', 'new'), { member_id: id });
    expect((await invite()).body).toMatchObject({ id, email: 'kept@kept.test' });
    await remove('kept', 'new');
    expect((await invite()).body).not.toHaveProperty('email');
    expect((await assign()).body).toMatchObject({ member_email: null });
    const { rows } = await api.db.pool.query(
      `select convert_from(body, 'UTF8') as body from idempotency_record`,
    );
    expect(JSON.stringify(rows)).not.toContain('kept@kept.test');
  });
});
