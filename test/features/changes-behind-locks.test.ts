// A change may wait for a lock behind a change of what it depends on. It then goes by what is true
// afterwards, and not by what authentication had found. Keys that end: test/contract/ended-keys.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { createKey, KEY_HOLDER } from '../support/api-keys.ts';
import { appAsMember, appAsPlatform, codeOf } from '../support/app.ts';
import { auditOf, auditOfTarget } from '../support/audit.ts';
import { changeWhileWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { describeTraining, eventsOf } from '../support/platform.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeMember, makeSeed, makeTeam } from '../support/seed.ts';

const KEY_TEAMS = [
  'queued',
  'promoting',
  'inviting',
  'plain',
  'removing',
  'expired',
  'suspended',
  'starter',
] as const;
const APP_TEAMS = [
  'withdrawn',
  'demoted',
  'left',
  'rotating',
  'ending',
  'handing',
  'granting',
  'resending',
  'closed',
  'cheaper',
  'rotated',
  'rehearsing',
  'twice',
  'accepting',
  'training',
] as const;
const PRIVATE_TEAMS = [
  'removal',
  'completion',
  'case',
  'answer',
  'repeated',
  'conditional',
  'page',
  'procedure',
] as const;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([
      ...KEY_TEAMS.map((name) =>
        makeTeam(name, { members: [makeMember(name, 'other', { role: 'admin' })] }),
      ),
      ...APP_TEAMS.map((name) =>
        makeTeam(name, {
          members: [
            makeMember(name, 'holder', KEY_HOLDER),
            makeMember(name, 'asked', { status: 'invited' }),
          ],
        }),
      ),
      ...PRIVATE_TEAMS.map((name) => makeFullTeam(name)),
    ]),
  });
});

const lockOf = (team: string): string =>
  `select from team where id = 'team_${team}' for no key update`;
const setMember = (team: string, name: string, values: string): string =>
  `update member set ${values} where team_id = 'team_${team}' and id = 'mem_${team}_${name}'`;
const DEMOTED = `role = 'member', rights = '{}'`;

async function membersOf(team: string): Promise<{ id: string; role: string; status: string }[]> {
  const { rows } = await api.db.pool.query<{ id: string; role: string; status: string }>(
    `select id, role, status from member where team_id = $1 order by id`,
    [`team_${team}`],
  );
  return rows;
}

describe('a key whose creator is demoted while its call waits', () => {
  const call = (team: string, method: string, path: string, body?: object) =>
    changeWhileWaiting(api, { lock: lockOf(team), change: setMember(team, 'admin', DEMOTED) }, () =>
      api.call(api.key(`team_${team}`, 'by_admin'), method, path, body ? { body } : {}),
    );
  const REFUSED = { status: 403, body: { code: 'insufficient_scope' } };

  test('403: makes no admin', async () => {
    const role = { role: 'admin' };
    expect(await call('promoting', 'PATCH', '/users/mem_promoting_member', role)).toMatchObject(
      REFUSED,
    );
    expect(await membersOf('promoting')).toContainEqual({
      id: 'mem_promoting_member',
      role: 'member',
      status: 'active',
    });
    expect(await auditOf(api, 'team_promoting')).toEqual([]);
  });

  test('403: invites no admin', async () => {
    const body = { email: 'late@inviting.test', role: 'admin' };
    expect(await call('inviting', 'POST', '/users', body)).toMatchObject(REFUSED);
    expect(await membersOf('inviting')).toHaveLength(4);
  });

  test('201: still invites a member', async () => {
    const body = { email: 'late@plain.test', role: 'member' };
    expect((await call('plain', 'POST', '/users', body)).status).toBe(201);
  });

  test('403: removes no admin', async () => {
    expect(await call('removing', 'DELETE', '/users/mem_removing_other')).toMatchObject(REFUSED);
    expect(await membersOf('removing')).toContainEqual({
      id: 'mem_removing_other',
      role: 'admin',
      status: 'active',
    });
  });
});

test('a promotion that waits behind the demotion of its admin does not undo it', async () => {
  const release = await holdLock(api, lockOf('queued'));
  const set = (role: string, key: string) =>
    api.call(key, 'PATCH', '/users/mem_queued_admin', { body: { role } });
  const demotion = set('member', api.key('team_queued'));
  await untilWaiting(api, 1);
  const promotion = set('admin', api.key('team_queued', 'by_admin'));
  await untilWaiting(api, 2);
  await release();
  expect([(await demotion).status, (await promotion).status]).toEqual([200, 403]);
  expect(await membersOf('queued')).toContainEqual({
    id: 'mem_queued_admin',
    role: 'member',
    status: 'active',
  });
});

describe('a key that may no longer call while its call waits', () => {
  test.each([
    [401, 'unauthorized', 'expired', `update api_key set expires_at = now()`],
    [403, 'api_disabled', 'suspended', `update team set status = 'suspended'`],
    [403, 'api_disabled', 'starter', `update team set plan = 'starter'`],
  ])('%i %s: invites nobody', async (status, code, team, change) => {
    const column = change.startsWith('update team') ? 'id' : 'team_id';
    const invite = () =>
      api.call(api.key(`team_${team}`), 'POST', '/users', {
        body: { email: `late@${team}.test`, role: 'member' },
        headers: { 'Idempotency-Key': 'late' },
      });
    const answer = await changeWhileWaiting(
      api,
      { lock: lockOf(team), change: `${change} where ${column} = 'team_${team}'` },
      invite,
    );
    expect(answer).toMatchObject({ status, body: { code } });
    expect(await membersOf(team)).toHaveLength(4);
    // What comes afterwards is told the same.
    expect(await invite()).toMatchObject({ status, body: { code } });
  });
});

describe('in the app, an admin whose call waits', () => {
  type App = Awaited<ReturnType<typeof appAsMember>>;
  const codeAfter = async (
    team: string,
    values: string,
    call: (app: App) => Promise<unknown>,
  ): Promise<string> => {
    const app = await appAsMember(api, team, 'holder');
    const change = setMember(team, 'holder', values);
    return changeWhileWaiting(api, { lock: lockOf(team), change }, () => codeOf(call(app)));
  };
  const create = (app: App) =>
    app.admin.apiKeys.create.mutate({ name: 'Late', scopes: ['users:write'] });
  const hasLateKey = async (team: string): Promise<boolean> => {
    const { rows } = await api.db.pool.query(
      `select from api_key where team_id = $1 and name like 'Late%'`,
      [`team_${team}`],
    );
    return rows.length > 0;
  };

  test.each([
    ['withdrawn', `rights = '{}'`, 'forbidden'],
    ['demoted', DEMOTED, 'forbidden'],
    ['left', `status = 'ended', ended_at = now()`, 'unauthorized'],
  ])('makes no key if meanwhile %s', async (team, values, code) => {
    expect(await codeAfter(team, values, create)).toBe(code);
    expect(await hasLateKey(team)).toBe(false);
  });

  const codeAfterTeam = (team: string, values: string, call: () => Promise<unknown>) =>
    changeWhileWaiting(
      api,
      { lock: lockOf(team), change: `update team set ${values} where id = 'team_${team}'` },
      () => codeOf(call()),
    );

  test.each([
    ['suspended', 'closed', `status = 'suspended'`],
    ['without the API by its plan', 'cheaper', `plan = 'starter'`],
  ])('makes no key if the team is %s meanwhile', async (_what, team, values) => {
    const app = await appAsMember(api, team, 'holder');
    expect(await codeAfterTeam(team, values, () => create(app))).toBe('api_disabled');
    expect(await hasLateKey(team)).toBe(false);
  });

  test('makes no test key if the sandbox is without the API meanwhile', async () => {
    await openSandbox(api, 'rehearsing');
    const app = await appInSandbox(api, 'rehearsing', 'holder');
    const team = 'rehearsing:sandbox';
    expect(await codeAfterTeam(team, `plan = 'starter'`, () => create(app))).toBe('api_disabled');
    expect(await hasLateKey(team)).toBe(false);
  });

  test('rotates no key of a team without the API', async () => {
    const app = await appAsMember(api, 'rotated', 'holder');
    const { id } = await createKey(app, { name: 'Late' });
    const rotate = () => app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 60 });
    expect(await codeAfterTeam('rotated', `plan = 'starter'`, rotate)).toBe('api_disabled');
    expect(await auditOfTarget(api, id)).toMatchObject([{ action: 'api_key.created' }]);
  });

  test('rotates no key without the right', async () => {
    const { id } = await createKey(await appAsMember(api, 'rotating', 'owner'), { name: 'Late' });
    const rotate = (app: App) => app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 60 });
    expect(await codeAfter('rotating', `rights = '{}'`, rotate)).toBe('forbidden');
    expect(await auditOfTarget(api, id)).toMatchObject([{ action: 'api_key.created' }]);
  });

  test('ends no key without the right', async () => {
    const { id } = await createKey(await appAsMember(api, 'ending', 'owner'));
    const app = await appAsMember(api, 'ending', 'holder');
    const code = await changeWhileWaiting(
      api,
      {
        lock: `select from api_key where team_id = 'team_ending' and id = '${id}' for update`,
        change: setMember('ending', 'holder', `rights = '{}'`),
      },
      () => codeOf(app.admin.apiKeys.revoke.mutate({ key_id: id })),
    );
    expect(code).toBe('forbidden');
    expect(await auditOfTarget(api, id)).toMatchObject([{ action: 'api_key.created' }]);
  });

  test('ends a key once, when others have ended it meanwhile', async () => {
    const app = await appAsMember(api, 'twice', 'holder');
    const { id } = await createKey(app);
    const release = await holdLock(
      api,
      `select from api_key where team_id = 'team_twice' and id = '${id}' for no key update`,
    );
    const ends = [1, 2, 3].map(() => app.admin.apiKeys.revoke.mutate({ key_id: id }));
    await untilWaiting(api, 3);
    await release();
    expect(new Set((await Promise.all(ends)).map((key) => key.revoked_at)).size).toBe(1);
    const actions = (await auditOf(api, 'team_twice')).map(({ action }) => action);
    expect(actions).toEqual(['api_key.created', 'api_key.revoked']);
  });

  test('withdraws no invitation without the role', async () => {
    const withdraw = (app: App) =>
      app.admin.invitations.withdraw.mutate({ member_id: 'mem_resending_asked' });
    expect(await codeAfter('resending', DEMOTED, withdraw)).toBe('forbidden');
    expect(await auditOf(api, 'team_resending')).toEqual([]);
  });

  test('makes no admin of their own again', async () => {
    const promote = (app: App) =>
      app.v1.members.update.mutate({ member_id: 'mem_granting_holder', role: 'admin' });
    expect(await codeAfter('granting', DEMOTED, promote)).toBe('forbidden');
    expect(await membersOf('granting')).toContainEqual({
      id: 'mem_granting_holder',
      role: 'member',
      status: 'active',
    });
  });
});

describe('a change that waits while member_detail_enabled is turned off', () => {
  const turnOff = (team: string): string =>
    `update team set member_detail_enabled = false where id = 'team_${team}'`;

  test('raises member.removed without the person', async () => {
    const answer = await changeWhileWaiting(
      api,
      { lock: lockOf('removal'), change: turnOff('removal') },
      () => api.call(api.key('team_removal'), 'DELETE', '/users/mem_removal_member'),
    );
    expect(answer.status).toBe(200);
    expect(await eventsOf(api, 'team_removal')).toMatchObject([{ type: 'member.removed' }]);
    expect(JSON.stringify(await eventsOf(api, 'team_removal'))).not.toContain('usr_removal');
  });

  test('raises assignment.completed without the person', async () => {
    const answer = await changeWhileWaiting(
      api,
      {
        lock: `select from assignment where team_id = 'team_completion' for no key update`,
        change: turnOff('completion'),
      },
      () =>
        api.call(api.key('team_completion'), 'PATCH', '/assignments/asg_completion', {
          body: { status: 'done' },
        }),
    );
    expect(answer.status).toBe(200);
    const events = await eventsOf(api, 'team_completion');
    expect(events).toMatchObject([{ type: 'assignment.completed' }]);
    expect(JSON.stringify(events)).not.toContain('usr_completion');
  });

  test('logs a new case without the person', async () => {
    const answer = await changeWhileWaiting(
      api,
      {
        lock: `select from member where team_id = 'team_case' for update`,
        change: turnOff('case'),
      },
      () =>
        api.call(api.key('team_case'), 'POST', '/cases', { body: { user_id: 'usr_case_member' } }),
    );
    expect(answer.status).toBe(201);
    expect(await auditOf(api, 'team_case')).toMatchObject([
      { action: 'case.created', details: { private: false } },
    ]);
    expect(JSON.stringify(await auditOf(api, 'team_case'))).not.toContain('usr_case');
  });

  const setStatus = (team: string, options: { headers?: Record<string, string> } = {}) =>
    api.call(api.key(`team_${team}`), 'PATCH', `/assignments/asg_${team}`, {
      body: { note: 'late' },
      ...options,
    });
  const rowOf = (team: string): string =>
    `select from assignment where team_id = 'team_${team}' for no key update`;

  test('responds without the address, as afterwards', async () => {
    const answer = await changeWhileWaiting(
      api,
      { lock: rowOf('answer'), change: turnOff('answer') },
      () => setStatus('answer'),
    );
    expect(answer).toMatchObject({ status: 200, body: { note: 'late', member_email: null } });
    expect(answer.body).toEqual((await setStatus('answer')).body);
  });

  test('keeps no address for a repetition, whatever the switch is then', async () => {
    const invite = () =>
      api.call(api.key('team_repeated'), 'POST', '/users', {
        body: { email: 'late@repeated.test', role: 'member' },
        headers: { 'Idempotency-Key': 'late' },
      });
    const answer = await changeWhileWaiting(
      api,
      { lock: lockOf('repeated'), change: turnOff('repeated') },
      invite,
    );
    expect(answer.status).toBe(201);
    expect(answer.body).not.toHaveProperty('email');
    await api.db.pool.query(turnOff('repeated').replace('false', 'true'));
    const repeated = await invite();
    expect(repeated.headers['idempotency-replayed']).toBe('true');
    expect(repeated.body).toEqual(answer.body);
  });

  test('412: takes If-Match for what a read would show now', async () => {
    const key = api.key('team_conditional');
    const { headers } = await api.call(key, 'GET', '/assignments/asg_conditional');
    const change = () =>
      setStatus('conditional', { headers: { 'If-Match': String(headers['etag']) } });
    const answer = await changeWhileWaiting(
      api,
      { lock: rowOf('conditional'), change: turnOff('conditional') },
      change,
    );
    expect(answer).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    expect((await change()).status).toBe(412);
    expect(await auditOf(api, 'team_conditional')).toEqual([]);
  });

  test('responds in the app without the address', async () => {
    const app = await appAsMember(api, 'page', 'owner');
    const changed = await changeWhileWaiting(
      api,
      { lock: lockOf('page'), change: turnOff('page') },
      () => app.v1.members.update.mutate({ member_id: 'mem_page_member', role: 'admin' }),
    );
    expect(changed).toMatchObject({ id: 'mem_page_member', role: 'admin' });
    expect(changed).not.toHaveProperty('email');
  });

  test('responds without the address to what only the app can call', async () => {
    const app = await appAsMember(api, 'procedure', 'owner');
    const { creator } = await changeWhileWaiting(
      api,
      { lock: lockOf('procedure'), change: turnOff('procedure') },
      () => app.admin.apiKeys.create.mutate({ name: 'Late', scopes: ['users:write'] }),
    );
    expect(creator).toEqual({ member_id: 'mem_procedure_owner' });
  });
});

describe('whoever accepts an invitation meanwhile', () => {
  /** Assigns something to an invited member, who accepts while the call waits. */
  async function acceptMeanwhile<T>(team: string, call: (id: string) => Promise<T>): Promise<T> {
    const assigned = await api.call(api.key(`team_${team}`), 'POST', '/assignments', {
      body: {
        member_id: `mem_${team}_asked`,
        title: 'Practise',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      },
    });
    expect(assigned.status).toBe(201);
    const { id } = assigned.body;
    return changeWhileWaiting(
      api,
      {
        lock: `select from assignment where team_id = 'team_${team}' for no key update`,
        change: `insert into person (team_id, id) values ('team_${team}', 'usr_new');
          update member set user_id = 'usr_new', status = 'active', joined_at = now()
          where team_id = 'team_${team}' and id = 'mem_${team}_asked';
          update assignment set updated_at = now() where team_id = 'team_${team}'`,
      },
      () => call(id),
    );
  }

  test('is named by the change of an assignment, and by its event', async () => {
    const answer = await acceptMeanwhile('accepting', (id) =>
      api.call(api.key('team_accepting'), 'PATCH', `/assignments/${id}`, {
        body: { status: 'done' },
      }),
    );
    expect(answer).toMatchObject({ status: 200, body: { member_user_id: 'usr_new' } });
    const [event] = (await eventsOf(api, 'team_accepting')).filter(
      ({ type }) => type === 'assignment.completed',
    );
    expect(event).toMatchObject({ data: { user_id: 'usr_new' } });
  });

  test('has made the training that is reported for the assignment', async () => {
    const { platform } = await appAsPlatform(api);
    const code = await acceptMeanwhile('training', (assignment_id) =>
      codeOf(
        platform.trainings.start.mutate(
          describeTraining('training', 'trn_new', { user_id: 'usr_new', assignment_id }),
        ),
      ),
    );
    expect(code).toBe('ok');
  });
});
