// Invitations that nobody accepts: they end, and their address goes. On the test's clock.
import { beforeAll, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { endExpiredInvitations } from '../../src/features/members/service.ts';
import { END_INVITATIONS, MEMBER_CRON, memberTasks } from '../../src/features/members/tasks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { clockAhead } from '../support/clocks.ts';
import { endWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { eventsOf } from '../support/platform.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';
import { changeTriggers } from '../support/shards.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-11-02T09:00:00.000Z');
const clock = fixedClock(START);

let api: TestApi;
beforeAll(async () => {
  const seeded = makeMember('a', 'seeded', {
    status: 'invited',
    created_at: '2020-01-01T00:00:00Z',
  });
  api = await startTestApi({
    clock,
    seed: makeSeed([
      makeTeam('a', { members: [seeded] }),
      makeTeam('b'),
      makeTeam('many'),
      makeTeam('c'),
      makeTeam('d'),
    ]),
  });
});

async function invite(team: string, name: string): Promise<string> {
  const body = { email: `${name}@${team}.test` };
  const invited = await api.call(api.key(`team_${team}`), 'POST', '/users', {
    body,
    headers: { 'idempotency-key': name },
  });
  expect(invited.status).toBe(201);
  return (invited.body as { id: string }).id;
}

const emailsOf = async (team: string) => {
  const { rows } = await api.db.pool.query<{ email: string }>(
    `select email from member where team_id = $1 and email is not null and role = 'member'`,
    [`team_${team}`],
  );
  return rows.map(({ email }) => email);
};

test('an invitation ends 180 days after it was last mailed, without its address', async () => {
  const old = await invite('a', 'old');
  const again = await invite('a', 'again');
  const accepted = await invite('a', 'accepted');
  const ofOther = await invite('b', 'old');
  const host = appAs(api, await tokenOf({ kind: 'platform', service: 'app' }, clock.now()));
  const acceptance = { team_id: 'team_a', user_id: 'usr_accepted', member_id: accepted };
  await host.platform.members.accept.mutate(acceptance);
  clock.set(new Date(START.getTime() + DAY_MS));
  const admin = { kind: 'user', userId: userId('a', 'admin'), teamId: 'team_a' } as const;
  await appAs(api, await tokenOf(admin, clock.now())).admin.invitations.resend.mutate({
    member_id: again,
  });

  clock.set(new Date(START.getTime() + 180 * DAY_MS));
  expect(await endExpiredInvitations(api.db, clock)).toBe(0);
  clock.advance(1);
  expect(await endExpiredInvitations(api.db, clock)).toBe(2);
  expect(await endExpiredInvitations(api.db, clock)).toBe(0);
  const get = (team: string, id: string) =>
    api.call(api.key(`team_${team}`), 'GET', `/users/${id}`);
  expect((await get('a', old)).status).toBe(404);
  expect((await get('b', ofOther)).status).toBe(404);
  expect((await get('a', again)).body).toMatchObject({ status: 'invited' });
  expect((await get('a', accepted)).body).toMatchObject({ status: 'active' });
  expect((await emailsOf('a')).toSorted()).toEqual(
    ['accepted', 'again', 'member', 'seeded'].map((name) => `${name}@a.test`),
  );
  const { rows } = await api.db.pool.query(`select body, open_body from idempotency_record`);
  expect(rows.map(({ body }) => String(body)).join(' ')).not.toContain('old@');
  expect((await eventsOf(api, 'team_a')).at(-1)).toEqual({
    type: 'member.removed',
    data: { team_id: 'team_a', member_id: old, role: 'member', user_id: null },
  });
  expect((await auditOf(api, 'team_a')).at(-1)).toEqual({
    actor_kind: 'platform',
    actor_id: 'invitation_expiry',
    action: 'member.invitation_expired',
    target_id: old,
    details: { role: 'member' },
  });

  clock.advance(DAY_MS);
  expect(await endExpiredInvitations(api.db, clock)).toBe(1);
  expect((await get('a', again)).status).toBe(404);
});

test('more invitations than one batch end in one run, which the worker makes hourly', async () => {
  await api.db.pool.query(
    `insert into member
       (team_id, id, email, role, status, created_at, invited_at, invitation_sent_at)
     select 'team_many', 'mem_' || n, 'n' || n || '@many.test', 'member', 'invited', $1, $1, $1
     from generate_series(1, 101) n`,
    [START],
  );
  clock.set(new Date(START.getTime() + 181 * DAY_MS));
  expect(MEMBER_CRON).toMatchObject([{ task: END_INVITATIONS, match: '37 * * * *' }]);
  const tasks = memberTasks(api.db, clock);
  await tasks[END_INVITATIONS]?.({}, {} as never);
  expect(await emailsOf('many')).toEqual(['member@many.test']);
});

test('those of a team that somebody has locked, or that cannot end, keep no others', async () => {
  const { pool } = api.db;
  clock.set(START);
  const [locked, broken, after] = [
    await invite('b', 'locked'),
    await invite('c', 'broken'),
    await invite('d', 'after'),
  ];
  await changeTriggers(
    api,
    `create function refuse() returns trigger language plpgsql
     as $$ begin raise exception 'refused'; end $$`,
    `create trigger refuse before update on member
     for each row when (old.id = '${broken}') execute function refuse()`,
  );
  clock.set(new Date(START.getTime() + 181 * DAY_MS));
  const unlock = await holdLock(api, `select from team where id = 'team_b' for no key update`);
  await expect(endExpiredInvitations(api.db, clock)).rejects.toThrow('not ended');
  const statusOf = async (id: string) =>
    (await pool.query('select status from member where id = $1', [id])).rows[0].status;
  expect([await statusOf(locked), await statusOf(broken), await statusOf(after)]).toEqual([
    'invited',
    'invited',
    'ended',
  ]);
  await unlock();
  await changeTriggers(api, 'drop trigger refuse on member');
  expect(await endExpiredInvitations(api.db, clock)).toBe(2);
});

test('an invitation of now is left open by a worker whose clock is ahead', async () => {
  clock.set(new Date());
  await invite('c', 'ahead');
  expect(await endExpiredInvitations(api.db, clockAhead(181 * DAY_MS))).toBe(0);
  expect(await emailsOf('c')).toContain('ahead@c.test');
});

test('a run that is ended tells what has failed before', async () => {
  clock.set(START);
  const id = await invite('c', 'failing');
  clock.advance(1);
  await invite('d', 'next');
  clock.set(new Date(START.getTime() + 181 * DAY_MS));
  await holdLock(api, `select from member where team_id = 'team_c' and id = '${id}' for update`);
  const controller = new AbortController();
  const run = endExpiredInvitations(api.db, clock, controller.signal).then(
    () => 'done',
    (error: unknown) => String(error),
  );
  await untilWaiting(api, 1);
  controller.abort();
  await endWaiting(api);
  expect(await run).toContain('not ended');
  expect(await emailsOf('d')).toContain('next@d.test');
});
