// A sandbox that an admin or the host application removes is erased.
import type { TaskList } from 'graphile-worker';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { sandboxTasks } from '../../src/features/sandbox/tasks.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

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
const stateOf = async (id = SANDBOX) =>
  (await query('select erasing_since is not null as erasing from team where id = $1', [id]))[0];

it('ends the jobs of what was played before quietly', async () => {
  const key = await openSandbox(api, 'a', 'typical', clock.now());
  const act = async (path: string, body: object) =>
    expect((await api.call(key, 'POST', path, { body })).status).toBeLessThan(300);
  await act('/users', { email: 'late@sandbox.example' });
  await act('/sandbox/simulate', { play: 'training_completed' });
  await act('/sandbox/simulate', { play: 'team_suspended' });
  await (await owner()).admin.sandbox.remove.mutate({});
  const mailer = mailerOf(api.db, clock, () => expect.fail('a mail was sent'));
  const tasks: TaskList = {
    ...sandboxTasks(api.db, clock),
    ...memberMailTasks({ db: api.db, mailer, invitationUrl: 'https://app.test/' }),
  };
  const jobs = await query(
    'select task, payload from pending_job where team_id = $1 order by task collate "C"',
    [SANDBOX],
  );
  expect(jobs.map(({ task }) => task)).toEqual([
    'end_sandbox_suspension',
    'score_sandbox_training',
    'send_invitation_mail',
  ]);
  for (const { task, payload } of jobs) await tasks[String(task)]?.(payload, {} as never);
  expect(await query('select from evaluation where saved_at >= $1', [START])).toEqual([]);
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
    expect(await stateOf()).toEqual({ erasing: false });
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
