// Invitations in the app: mailed again and withdrawn, over the real tRPC API.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { SEND_INVITATION } from '../../src/features/members/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

let api: TestApi;
let app: ReturnType<typeof appAs>;
const clock = fixedClock(new Date('2026-11-02T09:00:00Z'));

/** A token is valid for 15 minutes of the test's clock. */
async function signIn(name: string): Promise<typeof app> {
  const token = await tokenOf(
    { kind: 'user', userId: userId('a', name), teamId: 'team_a' },
    clock.now(),
  );
  return appAs(api, token);
}

beforeEach(async () => {
  app = await signIn('admin');
});

beforeAll(async () => {
  const invited = (name: string, team: string) =>
    makeMember(team, name, { status: 'invited', created_at: '2026-01-01T08:00:00Z' });
  api = await startTestApi({
    clock,
    seed: makeSeed([
      makeTeam('a', {
        members: [
          invited('new', 'a'),
          invited('gone', 'a'),
          makeMember('a', 'ended', { status: 'ended' }),
        ],
        assignments: [
          { id: 'asg_open', member_id: 'mem_a_gone', title: 'Open' },
          { id: 'asg_done', member_id: 'mem_a_gone', title: 'Done', status: 'done' },
        ],
      }),
      makeTeam('b', { members: [invited('new', 'b')] }),
    ]),
  });
});

const rows = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;
const mails = async (memberId: string) =>
  (
    await rows(
      `select
       from pending_job
       where task = $1 and key like '%' || $2`,
      [SEND_INVITATION, memberId],
    )
  ).length;

/** Another team's invitations, which must not count. */
async function fillTheHourOfTeamB(): Promise<void> {
  await rows(
    `insert into member (team_id, id, email, role, status, created_at, invited_at)
     select 'team_b', 'mem_x' || n, 'x' || n || '@b.test', 'member', 'invited', $1, $1
     from generate_series(1, 60) n`,
    [clock.now()],
  );
  await rows(
    `insert into invitation_resend (team_id, id, member_id, sent_at)
     select 'team_b', 'inv_x' || n, 'mem_b_new', $1
     from generate_series(1, 60) n`,
    [clock.now()],
  );
}

describe('an invitation mailed again', () => {
  test('queues one mail, with an audit entry, and changes only the time of the mail', async () => {
    const before = await rows(`select * from member where id = 'mem_a_new'`);
    expect(await app.admin.invitations.resend.mutate({ member_id: 'mem_a_new' })).toMatchObject({
      id: 'mem_a_new',
      status: 'invited',
      email: 'new@a.test',
    });
    expect(await mails('mem_a_new')).toBe(1);
    expect(await rows(`select * from member where id = 'mem_a_new'`)).toEqual([
      { ...before[0], invitation_sent_at: clock.now().toISOString() },
    ]);
    expect(
      await rows(
        `select action, actor_kind, actor_id
         from audit_log
         where target_id = 'mem_a_new'`,
      ),
    ).toEqual([
      { action: 'member.invitation_resent', actor_kind: 'user', actor_id: 'mem_a_admin' },
    ]);
    expect(await rows(`select from event where team_id = 'team_a'`)).toEqual([]);
  });

  test('counts toward the 60 invitations an hour, like a new invitation', async () => {
    clock.advance(3_600_000);
    app = await signIn('admin');
    await fillTheHourOfTeamB();
    const invite = (n: number) => app.v1.members.create.mutate({ email: `n${n}@limit.test` });
    const resend = () => app.admin.invitations.resend.mutate({ member_id: 'mem_a_new' });
    for (let n = 0; n < 30; n += 1) {
      await invite(n);
      await resend();
      clock.advance(1000);
    }
    const nextPlace = { data: { problem: { code: 'rate_limited', retry_after: 3570 } } };
    await expect(resend()).rejects.toMatchObject(nextPlace);
    await expect(invite(30)).rejects.toMatchObject(nextPlace);
    expect(
      (await api.call(api.key('team_a'), 'POST', '/users', { body: { email: 'x@limit.test' } }))
        .status,
    ).toBe(429);
    clock.advance(3_600_000);
    app = await signIn('admin');
    expect(await codeOf(resend())).toBe('ok');
    expect(await codeOf(invite(31))).toBe('ok');
  });

  test('of parallel calls for the last place of the hour exactly one succeeds', async () => {
    clock.advance(3_600_000);
    app = await signIn('admin');
    await rows(
      `insert into invitation_resend (team_id, id, member_id, sent_at)
       select 'team_a', 'inv_x' || n, 'mem_a_new', $1
       from generate_series(1, 59) n`,
      [clock.now()],
    );
    const codes = await Promise.all(
      Array.from({ length: 6 }, () =>
        codeOf(app.admin.invitations.resend.mutate({ member_id: 'mem_a_new' })),
      ),
    );
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['ok', 'rate_limited']));
    clock.advance(3_600_000);
    app = await signIn('admin');
    expect(await codeOf(app.v1.members.create.mutate({ email: 'next@hour.test' }))).toBe('ok');
  });
});

describe.each(['resend', 'withdraw'] as const)('%s is refused', (name) => {
  const call = (memberId: string) =>
    codeOf(app.admin.invitations[name].mutate({ member_id: memberId }));

  test('for members of other teams, unknown and former ones, with the same not_found', async () => {
    expect(await call('mem_b_new')).toBe('not_found');
    expect(await call('mem_nobody')).toBe('not_found');
    expect(await call('mem_a_ended')).toBe('not_found');
  });

  test('for active members and the owner', async () => {
    expect(await call('mem_a_member')).toBe('validation_error');
    expect(await call('mem_a_owner')).toBe('validation_error');
    expect(await rows(`select status from member where id = 'mem_a_member'`)).toEqual([
      { status: 'active' },
    ]);
  });

  test('to members who are not admins', async () => {
    const member = await signIn('member');
    expect(await codeOf(member.admin.invitations[name].mutate({ member_id: 'mem_a_new' }))).toBe(
      'forbidden',
    );
  });
});

describe('an invitation withdrawn', () => {
  test('ends the membership, revokes open assignments, raises one event', async () => {
    expect(await app.admin.invitations.withdraw.mutate({ member_id: 'mem_a_gone' })).toEqual({
      ok: true,
    });
    expect(await rows(`select status from member where id = 'mem_a_gone'`)).toEqual([
      { status: 'ended' },
    ]);
    expect(
      await rows(`select id, status
        from assignment
        where member_id = 'mem_a_gone'
        order by id`),
    ).toEqual([
      { id: 'asg_done', status: 'done' },
      { id: 'asg_open', status: 'revoked' },
    ]);
    const events = await rows(
      `select type, data from event where data->>'member_id' = 'mem_a_gone'`,
    );
    expect(events).toEqual([
      {
        type: 'member.removed',
        data: { team_id: 'team_a', member_id: 'mem_a_gone', role: 'member', user_id: null },
      },
    ]);
    expect(await rows(`select action from audit_log where target_id = 'mem_a_gone'`)).toEqual([
      { action: 'member.invitation_withdrawn' },
    ]);
    expect(await codeOf(app.admin.invitations.withdraw.mutate({ member_id: 'mem_a_gone' }))).toBe(
      'not_found',
    );
    expect((await api.call(api.key('team_a'), 'GET', '/users/mem_a_gone')).status).toBe(404);
  });
});
