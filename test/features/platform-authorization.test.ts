import type { TRPCClient } from '@trpc/client';
import { beforeAll, describe, expect, test } from 'vitest';
import { platform } from '../../src/routers/routers.ts';
import type { AppRouter } from '../../src/routers/routers.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, appAsMember, appAsPlatform, codeOf } from '../support/app.ts';
import { describeEvaluation, describeTraining } from '../support/platform.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const team = { team_id: 'team_nowhere' };
const training = { ...describeTraining('nowhere', 'trn_1'), ...team };

/** A valid input of each procedure, for a team that does not exist. */
const INPUTS: Record<string, object> = {
  'teams.create': { ...team, name: 'x', owner: { user_id: 'usr_x', email: 'x@example.com' } },
  'teams.update': { ...team, seats: 5 },
  'members.accept': { ...team, user_id: 'usr_x', member_id: 'mem_x' },
  'teams.transferOwnership': { ...team, member_id: 'mem_x' },
  'teams.createSandbox': team,
  'teams.removeSandbox': team,
  'teams.erase': team,
  'members.deletePerson': { ...team, user_id: 'usr_x' },
  'apiKeys.createFirst': { ...team, name: 'x', template: 'results' },
  'apiKeys.revoke': { ...team, key_id: 'x' },
  'trainings.start': training,
  'trainings.end': { ...training, finished_at: training.created_at },
  'trainings.abort': training,
  'evaluations.save': describeEvaluation('nowhere', 'trn_1', 1),
  'cases.create': { ...team, case_id: 'cas_x', user_id: 'usr_x' },
  'cases.update': { ...team, case_id: 'cas_x', title: 'x' },
  'cases.remove': { ...team, case_id: 'cas_x' },
  'catalog.saveTeamEntries': { ...team, entries: [] },
  'catalog.saveEntries': { entries: [] },
  'catalog.saveRules': { rules: [] },
};

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
});

function callAs(app: TRPCClient<AppRouter>, name: string, teamId = team.team_id): Promise<string> {
  const steps = name.split('.');
  let at: unknown = app.platform;
  for (const step of steps) at = (at as Record<string, unknown>)[step];
  const given = INPUTS[name];
  const input = given && 'team_id' in given ? { ...given, team_id: teamId } : given;
  return codeOf((at as { mutate(input: unknown): Promise<unknown> }).mutate(input));
}

describe.each(Object.keys(INPUTS))('platform.%s', (name) => {
  test('is for services of the host application only', async () => {
    for (const member of ['owner', 'admin']) {
      expect(await callAs(await appAsMember(api, 'a', member), name)).toBe('forbidden');
    }
    expect(await callAs(await appAsMember(api, 'a', 'member'), name)).toBe('forbidden');
    expect(await callAs(appAs(api, api.key('team_a')), name)).toBe('unauthorized');
    expect(await callAs(appAs(api, null), name)).toBe('unauthorized');
  });

  test('answers not_found if it needs a team and the team does not exist', async () => {
    const isFree = ['teams.create', 'catalog.saveEntries', 'catalog.saveRules'].includes(name);
    const app = await appAsPlatform(api);
    expect(await callAs(app, name)).toBe(isFree ? 'ok' : 'not_found');
    await api.db.pool.query(
      `with m as (delete from member where team_id = 'team_nowhere'),
         e as (delete from event where team_id = 'team_nowhere'),
         a as (delete from audit_log where team_id = 'team_nowhere'),
         p as (delete from person where team_id = 'team_nowhere')
       delete from team where id = 'team_nowhere'`,
    );
  });
});

test('a team that is being erased is unknown, and cannot be created', async () => {
  await api.db.pool.query(
    `update team set status = 'ended', erasing_since = now() where id = 'team_a'`,
  );
  const app = await appAsPlatform(api);
  const outcomes: Record<string, string> = {};
  for (const name of Object.keys(INPUTS)) outcomes[name] = await callAs(app, name, 'team_a');
  const others = Object.fromEntries(Object.keys(INPUTS).map((name) => [name, 'not_found']));
  expect(outcomes).toEqual({
    ...others,
    'teams.create': 'conflict',
    'teams.erase': 'ok',
    'catalog.saveEntries': 'ok',
    'catalog.saveRules': 'ok',
  });
});

test('every procedure for the host application is tested here', () => {
  const names = Object.keys(platform._def.procedures);
  expect(names.filter((name) => !name.startsWith('crm')).toSorted()).toEqual(
    Object.keys(INPUTS).toSorted(),
  );
});
