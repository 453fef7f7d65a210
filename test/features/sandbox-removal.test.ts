// A sandbox that nobody uses is removed after a mail, and one that somebody removes is erased.
import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { findWarning, removeIdle } from '../../src/features/sandbox/removal-service.ts';
import { WARN_ADMINS } from '../../src/features/sandbox/jobs.ts';
import { SANDBOX_CRON, sandboxTasks } from '../../src/features/sandbox/tasks.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { clockAhead } from '../support/clocks.ts';
import { holdLock } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-11-24T10:00:00.000Z');
const clock = fixedClock(START);
const SANDBOX = 'team_a:sandbox';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    seed: makeSeed([makeTeam('a', { language: 'de' }), makeTeam('b')]),
  });
});
beforeEach(async () => {
  clock.set(START);
  await putSeedBack(api);
});

const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await api.db.pool.query<Record<string, unknown>>(text, values)).rows;
/** Creates the sandbox without a key or any change in it. */
const create = async (team = 'a') => {
  const platform = await platformNow();
  return platform.platform.teams.createSandbox.mutate({ team_id: `team_${team}` });
};
const platformNow = async () =>
  appAs(api, await tokenOf({ kind: 'platform', service: 'training' }, clock.now()));
const inside = () => appInSandbox(api, 'a', 'owner', clock.now());
const owner = async () =>
  appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' }, clock.now()),
  );
/** A run ends after some seconds, and then there may be more to do. */
const erase = async () => {
  while (await eraseTeams(api.db));
};
/** Runs the job as of so many days after the start. */
const runOn = async (day: number) => {
  clock.set(new Date(START.getTime() + day * DAY_MS));
  await removeIdle(api.db, clock);
};
/** Runs the job each day up to this one. */
const runUntil = async (first: number, last: number) => {
  for (let day = first; day <= last; day += 1) await runOn(day);
};
const stateOf = async (id = SANDBOX) =>
  (
    await query(
      `select t.erasing_since is not null as erasing, s.warned_at is not null as warned
       from team t left join sandbox s on s.team_id = t.id where t.id = $1`,
      [id],
    )
  )[0];
const jobs = () =>
  query(
    `select team_id, payload from pending_job where task = 'send_sandbox_warning'
     order by payload ->> 'memberId'`,
  );
const IDLE = { erasing: false, warned: false };
const WARNED = { erasing: false, warned: true };
const ERASING = { erasing: true, warned: true };

describe('a sandbox that nobody uses', () => {
  it('is removed 90 days after its last use, 14 days after the mail to each admin', async () => {
    await create();
    await runUntil(0, 75);
    expect(await stateOf()).toEqual(IDLE);
    await runOn(76);
    expect(await stateOf()).toEqual(WARNED);
    const payloads = (await jobs()).map(({ team_id, payload }) => [team_id, payload]);
    expect(payloads).toEqual([
      ['team_a', { teamId: 'team_a', memberId: 'mem_a_admin' }],
      ['team_a', { teamId: 'team_a', memberId: 'mem_a_owner' }],
    ]);
    const removal_at = new Date(START.getTime() + 90 * DAY_MS).toISOString();
    expect((await (await owner()).admin.sandbox.get.query({})).sandbox).toMatchObject({
      removal_at,
    });
    await runUntil(77, 89);
    expect(await jobs()).toHaveLength(2);
    expect(await stateOf()).toEqual(WARNED);
    await runOn(90);
    expect(await stateOf()).toEqual(ERASING);
    const [entry] = await query(
      `select team_id, actor_kind, target_id from audit_log where action = 'sandbox.removed'`,
    );
    expect(entry).toEqual({ team_id: 'team_a', actor_kind: 'system', target_id: SANDBOX });
    expect(await query(`select from pending_job where task = 'erase_teams'`)).toHaveLength(1);
    await erase();
    expect(await stateOf()).toBeUndefined();
    expect(await create()).toMatchObject({ tenant_id: SANDBOX, removal_at: null });
  });

  it.each([
    [
      'a call with a key',
      async () => {
        // Its day tells of it: the counts of calls are written by the API each ten seconds.
        await query(
          `insert into api_key_usage (team_id, day, key_id)
           select team_id, $1::date, id from api_key where team_id = $2`,
          [clock.now(), SANDBOX],
        );
      },
    ],
    [
      'a call whose count is not written yet',
      async (key: string) => void (await api.call(key, 'GET', '/me')),
    ],
    [
      'a change by an admin',
      async () => {
        const app = await inside();
        await app.admin.crm.pause.mutate({ connection_id: 'crm_sandbox' });
      },
    ],
    ['a reset', async () => void (await (await inside()).v1.sandbox.reset.mutate({}))],
  ])('stays after %s, and its admins are told again before it goes', async (_what, use) => {
    const key = await openSandbox(api, 'a', 'typical', clock.now());
    await runUntil(76, 78);
    expect(await stateOf()).toEqual(WARNED);
    await use(key);
    await runUntil(79, 79);
    expect(await stateOf()).toEqual(IDLE);
    const [first] = (await jobs()) as { payload: { teamId: string; memberId: string } }[];
    if (!first) throw new Error('no mail was enqueued');
    // A mail that is late is not sent any more.
    expect(await findWarning(api.db, first.payload, 'https://api.test')).toBeNull();
    // What told of the use is removed after 30 days.
    await runUntil(104, 104);
    await query(`delete from audit_log where team_id = $1`, [SANDBOX]);
    await query(`delete from api_key_usage where team_id = $1`, [SANDBOX]);
    await runUntil(129, 153);
    expect(await stateOf()).toEqual(IDLE);
    expect(await jobs()).toHaveLength(2);
    await runUntil(154, 167);
    expect(await jobs()).toHaveLength(4);
    expect(await stateOf()).toEqual(WARNED);
    await runUntil(168, 169);
    expect(await stateOf()).toEqual(ERASING);
  });

  it('is used by nothing that a worker or the host application does', async () => {
    await create();
    clock.set(new Date(START.getTime() + 70 * DAY_MS));
    for (const kind of ['system', 'platform'])
      await query(
        `insert into audit_log
           (team_id, id, created_at, actor_kind, actor_id, action, request_id)
         values ($1, 'aud_' || $2, $3, $2, 'x', 'crm_connection.sync_failed', 'x')`,
        [SANDBOX, kind, clock.now()],
      );
    await runUntil(76, 76);
    expect(await stateOf()).toEqual(WARNED);
  });

  it('is not removed without a new mail if no worker ran for long', async () => {
    await create();
    await runOn(76);
    await (await inside()).v1.sandbox.reset.mutate({});
    await runOn(400);
    expect(await stateOf()).toEqual(WARNED);
    expect(await jobs()).toHaveLength(4);
  });

  it.each(['suspended', 'ended'] as const)(
    'of a team that is %s stays, and goes 14 days after a mail to those who can use it again',
    async (closed) => {
      const setStatus = async (status: 'active' | typeof closed) => {
        const platform = await platformNow();
        await platform.platform.teams.update.mutate({ team_id: 'team_a', status });
      };
      await create();
      await runUntil(0, 75);
      await setStatus(closed);
      await runOn(76);
      expect(await stateOf()).toEqual(IDLE);
      clock.set(new Date(START.getTime() + 76.5 * DAY_MS));
      await setStatus('active');
      expect(await jobs()).toEqual([]);
      await runUntil(77, 90);
      expect(await stateOf()).toEqual(WARNED);
      expect(await jobs()).toHaveLength(2);
      await setStatus(closed);
      await runUntil(91, 120);
      expect(await stateOf()).toEqual(IDLE);
      await setStatus('active');
      await runUntil(121, 134);
      expect(await stateOf()).toEqual(WARNED);
      expect(await jobs()).toHaveLength(4);
      await runOn(135);
      expect(await stateOf()).toEqual(ERASING);
    },
  );

  it('has all of very many admins told, page by page, and each once', async () => {
    await create();
    await query(
      `insert into person (team_id, id)
       select 'team_a', 'usr_' || n from generate_series(1, 250) n`,
    );
    await query(
      `insert into member (team_id, id, user_id, email, role, status, created_at)
       select 'team_a', 'mem_' || n, 'usr_' || n, n || '@a.test', 'admin',
         case when n % 5 = 0 then 'invited' else 'active' end, $1::timestamptz
       from generate_series(1, 250) n`,
      [START],
    );
    const { warn_sandbox_admins: warn } = sandboxTasks(api.db, clock);
    const pages = () => query(`select id, payload from pending_job where task = $1`, [WARN_ADMINS]);
    await runOn(76);
    expect((await jobs()).length).toBeLessThanOrEqual(100);
    for (let run = 0; run < 4; run += 1)
      for (const { id, payload } of await pages()) {
        await warn?.(payload, {} as never);
        await query('delete from pending_job where id = $1', [id]);
      }
    expect(await pages()).toEqual([]);
    const told = (await jobs()).map(({ payload }) => (payload as { memberId: string }).memberId);
    expect(told).toHaveLength(202);
    expect(new Set(told).size).toBe(202);
  });

  it('is looked at by one of many workers, and not while somebody changes it', async () => {
    await create();
    await create('b');
    clock.set(new Date(START.getTime() + 76 * DAY_MS));
    // Who changes the live team holds its lock, and who changes the sandbox that of the sandbox.
    for (const held of ['team_b', 'team_b:sandbox']) {
      const release = await holdLock(api, `select from team where id = '${held}' for update`);
      await Promise.all(Array.from({ length: 6 }, () => removeIdle(api.db, clock)));
      expect(await jobs()).toHaveLength(2);
      expect(await stateOf('team_b:sandbox')).toEqual(IDLE);
      await release();
    }
    await removeIdle(api.db, clock);
    expect(await jobs()).toHaveLength(4);
  });

  it('is not looked at before its time by a worker whose clock is ahead', async () => {
    clock.set(new Date());
    await create();
    await removeIdle(api.db, clockAhead(77 * DAY_MS));
    expect(await stateOf()).toEqual(IDLE);
  });

  it('is found in pages, and a run that is broken off goes on later', async () => {
    await query(
      `insert into team (id, name, seats, created_at)
       select 'many_' || n || suffix, 'many', 1, $1
       from generate_series(1, 25) n, (values (''), (':sandbox')) as s (suffix)`,
      [START],
    );
    await query(
      `insert into sandbox (team_id, scenario, created_at, reset_at, used_at, check_at)
       select id, 'empty', $1, $1, $1, $1 from team where id like 'many_%:sandbox'`,
      [START],
    );
    clock.set(new Date(START.getTime() + 80 * DAY_MS));
    const warned = async () =>
      (await query(`select from sandbox where warned_at is not null`)).length;
    await removeIdle(api.db, clock, { pageSize: 10, runMs: 0 });
    expect(await warned()).toBe(0);
    await removeIdle(api.db, clock, { pageSize: 10 });
    expect(await warned()).toBe(25);
  });
});

test('the mail says in the language of its reader when the sandbox goes', async () => {
  await create();
  await runOn(76);
  const mailTo = (name: string) =>
    findWarning(api.db, { teamId: 'team_a', memberId: `mem_a_${name}` }, 'https://api.test');
  const german = await mailTo('owner');
  expect(german?.subject).toMatch(/^Die Sandbox von „.*“ wird am 2027-02-22 entfernt$/);
  expect(german?.text).toContain('\nhttps://api.test/admin/sandbox/play,');
  await query(`update member set language = 'en' where id = 'mem_a_admin'`);
  expect((await mailTo('admin'))?.subject).toMatch(/ will be removed on 2027-02-22$/);
  expect(await mailTo('member')).toBeNull();
});

describe('an admin', () => {
  it('removes it, and then there is none until it is created again', async () => {
    const key = await openSandbox(api, 'a', 'typical', clock.now());
    const app = await owner();
    await app.admin.sandbox.remove.mutate({});
    expect(await app.admin.sandbox.get.query({})).toEqual({ sandbox: null });
    expect(await codeOf(app.admin.sandbox.create.mutate({}))).toBe('conflict');
    expect(await codeOf((await inside()).v1.sandbox.reset.mutate({}))).toBe('not_found');
    expect(await codeOf(app.admin.sandbox.remove.mutate({}))).toBe('ok');
    const update = { team_id: 'team_a', status: 'active', plan: 'enterprise' } as const;
    expect(await codeOf((await platformNow()).platform.teams.update.mutate(update))).toBe('ok');
    expect((await api.call(key, 'GET', '/me')).status).toBe(403);
    const inSandbox = await inside();
    expect(await codeOf(inSandbox.admin.members.search.query({}))).toBe('not_found');
    const entries = await query(
      `select actor_id from audit_log where action = 'sandbox.removed' and team_id = 'team_a'`,
    );
    expect(entries).toEqual([{ actor_id: 'mem_a_owner' }]);
    await erase();
    expect((await api.call(key, 'GET', '/me')).status).toBe(401);
    expect(await codeOf(app.admin.sandbox.remove.mutate({}))).toBe('not_found');
    expect(await codeOf(app.admin.sandbox.create.mutate({}))).toBe('ok');
    expect((await api.call(api.key('team_a'), 'GET', '/me')).status).toBe(200);
  });

  it('does not do so from inside, nor does a member of the team', async () => {
    await create();
    const inSandbox = await inside();
    expect(await codeOf(inSandbox.admin.sandbox.remove.mutate({}))).toBe('conflict');
    expect(await stateOf()).toEqual(IDLE);
  });

  it('and others at the same time leave one sandbox or none, never half of one', async () => {
    await create();
    const platform = await platformNow();
    const [app, inSandbox] = [await owner(), await inside()];
    const codes = await Promise.all([
      codeOf(platform.platform.teams.removeSandbox.mutate({ team_id: 'team_a' })),
      codeOf(app.admin.sandbox.remove.mutate({})),
      codeOf(inSandbox.v1.sandbox.reset.mutate({})),
      codeOf(app.admin.sandbox.create.mutate({})),
      codeOf(platform.platform.teams.createSandbox.mutate({ team_id: 'team_a' })),
    ]);
    expect(codes.slice(0, 2)).toEqual(['ok', 'ok']);
    expect(['ok', 'not_found', 'conflict']).toContain(codes[2]);
    for (const code of codes.slice(3)) expect(['ok', 'conflict']).toContain(code);
    expect(await stateOf()).toMatchObject({ erasing: true });
    const removed = await query(`select from audit_log where action = 'sandbox.removed'`);
    expect(removed).toHaveLength(1);
    await erase();
    expect(await stateOf()).toBeUndefined();
    expect(await query(`select from member where team_id = $1`, [SANDBOX])).toEqual([]);
  });
});

test('the job runs each hour', () => {
  expect(SANDBOX_CRON.map(({ match }) => match)).toEqual(['23 * * * *']);
});
