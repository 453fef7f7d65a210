// A sandbox: a team of its own beside a live one, with keys that open nothing else.
import pino from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { isSandbox, SANDBOX_OWNER } from '../../src/core/sandbox.ts';
import { announce, planAnnouncement } from '../../src/features/announcements/service.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { mailerOf } from '../../src/features/sandbox/mail-service.ts';
import { insertMail } from '../../src/features/sandbox/mail-store.ts';
import { MAILS_MAX } from '../../src/features/sandbox/rules.ts';
import { createFastAuthenticator } from '../../src/http/api/authentication/fast-authenticator.ts';
import { createPlainAuthenticator } from '../../src/http/api/authentication/plain-authenticator.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { startTestApi, type ApiResponse, type TestApi } from '../support/api.ts';
import { appAs, appAsMember, appAsPlatform, codeOf, tokenOf } from '../support/app.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { startMailServer } from '../support/mail-server.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam, makeTraining } from '../support/seed.ts';

let api: TestApi;
/** Opens the sandbox of team_a, the team that has one. */
let test: string;
let live: string;

beforeAll(async () => {
  api = await startTestApi({
    statementTimeoutMs: 60_000,
    allowPrivateTargets: true,
    seed: makeSeed([
      makeTeam('a', { trainings: [makeTraining('a', 'trn_live')] }),
      makeTeam('b'),
      makeTeam('c'),
      makeTeam('e'),
    ]),
  });
  test = await openSandbox(api, 'a');
  live = api.key('team_a');
});

const get = (key: string | null, path: string) => api.call(key, 'GET', path);
const idsOf = ({ body }: { body: unknown }) =>
  (body as { data: { id: string }[] }).data.map(({ id }) => id);

describe('a test key', () => {
  it('opens the sandbox and says so in every response', async () => {
    const me = await get(test, '/me');
    expect(me).toMatchObject({
      status: 200,
      body: { tenant_id: 'team_a:sandbox', mode: 'test', rate_limit_per_min: 300 },
    });
    expect(me.headers['svc-mode']).toBe('test');
    expect((await get(test, '/nowhere')).headers['svc-mode']).toBe('test');
    expect(await get(test, '/trainings/trn_live')).toMatchObject({ status: 404 });
  });

  it('sees what the scenario has, by ids that are fixed', async () => {
    expect(idsOf(await get(test, '/trainings?limit=200'))).toHaveLength(60);
    expect(idsOf(await get(test, '/assignments?status=done'))).toEqual(['asg_sandbox_done']);
    expect(await get(test, '/trainings/trn_sandbox_001/evaluation')).toMatchObject({
      status: 200,
      body: { user_id: 'usr_sandbox_clara' },
    });
    expect((await get(test, '/users/mem_sandbox_lena')).body).toMatchObject({ status: 'invited' });
    // Neither the started ones nor the aborted ones.
    const sessions = 60 - 2 - 4;
    expect((await get(test, '/analytics/team')).body).toMatchObject({
      totals: { active_members: 11, scored: 48, sessions },
      skill_gaps: ['closing', 'conversation_control'],
    });
  });

  it('refuses the assignments that its guide names', async () => {
    const assign = async (ids: string, name = 'clara', key = test) => {
      const [situation = '', personality = '', industry = ''] = ids.split(' ');
      const { status, body } = await api.call(key, 'POST', '/assignments', {
        body: {
          member_id: `mem_sandbox_${name}`,
          title: 'Refused?',
          situation_id: `sit_sandbox_${situation}`,
          personality_id: `per_sandbox_${personality}`,
          industry_id: `ind_sandbox_${industry}`,
        },
      });
      return [status, (body as { code?: string; dimension?: string }).code].join(' ').trim();
    };
    expect(await assign('complaint hurried software')).toBe('422 kombination_ungueltig');
    expect(await assign('complaint hurried software', 'jonas')).toBe('422 kombination_ungueltig');
    expect(await assign('complaint sceptic software')).toBe('201');
    expect(await assign('price hurried software')).toBe('201');
    expect(await assign('price sceptic machines')).toBe('403 vorgabe_gesperrt');
    expect(await assign('complaint sceptic software', 'jonas')).toBe('403 vorgabe_gesperrt');
    const empty = await openSandbox(api, 'e', 'empty');
    expect(await assign('complaint sceptic machines', 'owner', empty)).toBe('201');
    expect(await assign('complaint hurried software', 'owner', empty)).toBe(
      '422 kombination_ungueltig',
    );
    expect((await api.call(test, 'POST', '/sandbox/reset')).status).toBe(200);
  });

  it('is refused everywhere with the word of the other kind', async () => {
    const asLive = test.replace('svck_test_', 'svck_live_');
    const asTest = live.replace('svck_live_', 'svck_test_');
    for (const { method, path } of ENDPOINTS) {
      const at = path.replace(/\{\w+\}/g, 'x');
      for (const key of [asLive, asTest]) {
        const { status, headers } = await api.call(key, method, at, { body: {} });
        expect({ at, status, mode: headers['svc-mode'] }).toEqual({ at, status: 401 });
      }
    }
  });

  it('cannot be written into a live team, nor a live key into a sandbox', async () => {
    const write = (of: string, prefix: string) =>
      api.db.pool.query(
        `insert into api_key
           (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
         select team_id, 'key_x', 'x', $2, secret_hash, scopes, created_by, created_at
         from api_key
         where team_id = $1
         limit 1`,
        [of, prefix],
      );
    // Citus tells the name in the text only.
    await expect(write('team_a', 't123456789')).rejects.toThrow('api_key_mode_check');
    await expect(write('team_a:sandbox', '0123456789')).rejects.toThrow('api_key_mode_check');
    const move = `update key_directory set team_id = $1 where team_id = $2`;
    await expect(api.db.pool.query(move, ['team_a', 'team_a:sandbox'])).rejects.toThrow(
      'key_directory_mode_check',
    );
  });

  it.each([
    ['fast', createFastAuthenticator],
    ['plain', createPlainAuthenticator],
  ])('opens no team of the other kind, whatever the database holds: %s', async (_name, create) => {
    const torn = await startTestApi({
      seed: makeSeed([makeTeam('a'), makeTeam('b')]),
      app: { createAuthenticator: create },
    });
    const keys = { test: await openSandbox(torn, 'a'), live: torn.key('team_b') };
    for (const key of Object.values(keys))
      expect((await torn.call(key, 'GET', '/me')).status).toBe(200);
    for (const table of ['api_key', 'key_directory']) {
      await torn.db.pool.query(`alter table ${table} drop constraint ${table}_mode_check`);
      // The rows say that each key is one of the other kind.
      for (const [prefix, other] of [
        [`'t' || prefix`, 'team_b'],
        ['substr(prefix, 2)', 'team_a:sandbox'],
      ])
        await torn.db.pool.query(`update ${table} set prefix = ${prefix} where team_id = $1`, [
          other,
        ]);
    }
    const asTest = keys.live.replace('svck_live_', 'svck_test_t');
    const asLive = keys.test.replace('svck_test_t', 'svck_live_');
    for (const key of [asTest, asLive, asTest, asLive])
      expect(await torn.call(key, 'GET', '/me')).toMatchObject({
        status: 401,
        body: { code: 'unauthorized' },
      });
  });

  it('can have the scope of sandboxes, and a live key cannot', async () => {
    const scopes = ['sandbox:write'] as never;
    const app = await appAsMember(api, 'a', 'owner');
    const wanted = { name: 'sandbox', scopes };
    expect(await codeOf(app.admin.apiKeys.create.mutate(wanted))).toBe('validation_error');
    const inSandbox = await appInSandbox(api, 'a');
    expect(await codeOf(inSandbox.admin.apiKeys.create.mutate(wanted))).toBe('ok');
  });
});

describe('a live key', () => {
  it('finds no path of a sandbox, whatever scopes it has', async () => {
    for (const { method, path, mode } of ENDPOINTS) {
      if (mode !== 'test') continue;
      const at = path.replace(/\{\w+\}/g, 'x');
      expect(await api.call(live, method, at)).toMatchObject({ status: 404 });
      expect((await api.call(live, method, at)).headers['svc-mode']).toBeUndefined();
    }
  });

  it('sees nothing of the sandbox beside it', async () => {
    expect(idsOf(await get(live, '/trainings'))).toEqual(['trn_live']);
    expect(await get(live, '/trainings/trn_sandbox_001')).toMatchObject({ status: 404 });
  });
});

describe('a reset', () => {
  it('brings the scenario back, and leaves keys, endpoints and the audit log', async () => {
    const endpoint = await api.call(test, 'POST', '/webhook-endpoints', {
      body: { url: 'http://127.0.0.1:9/hook', events: ['member.joined'] },
    });
    expect(endpoint.status).toBe(201);
    await api.call(test, 'POST', '/users', { body: { email: 'new@sandbox.example' } });
    await api.call(test, 'DELETE', '/assignments/asg_sandbox_open');
    expect(await api.call(test, 'POST', '/sandbox/reset')).toMatchObject({
      status: 200,
      body: { scenario: 'typical' },
    });
    expect((await get(test, '/assignments/asg_sandbox_open')).status).toBe(200);
    const people = (await get(test, '/users?limit=200')).body as { data: { email: string }[] };
    expect(people.data.map(({ email }) => email)).not.toContain('new@sandbox.example');
    expect(idsOf(await get(test, '/webhook-endpoints'))).toHaveLength(1);
    const { rows } = await api.db.pool.query(
      `select action from audit_log where team_id = 'team_a:sandbox' order by created_at`,
    );
    const actions = rows.map(({ action }) => action as string);
    expect(actions).toEqual(expect.arrayContaining(['member.invited', 'sandbox.reset']));
  });

  it('frees the Idempotency-Keys of what it removes, and those of nothing else', async () => {
    const post = (path: string, body: object) =>
      api.call(test, 'POST', path, { body, headers: { 'idempotency-key': `fixed ${path}` } });
    const run = async () => [
      await post('/users', { email: 'fixed@sandbox.example' }),
      await post('/assignments', {
        member_id: 'mem_sandbox_jonas',
        title: 'Fixed',
        situation_id: 'sit_sandbox_complaint',
        personality_id: 'per_sandbox_sceptic',
        industry_id: 'ind_sandbox_software',
      }),
      await post('/sandbox/simulate', { play: 'training_completed' }),
      await post('/webhook-endpoints', { url: 'http://127.0.0.1:9/f', events: ['member.joined'] }),
      await post('/sandbox/reset', { scenario: 'typical' }),
    ];
    const replayed = (answers: readonly { readonly headers: object }[]) =>
      answers.map(({ headers }) => 'idempotency-replayed' in headers);
    const first = await run();
    expect(first.map(({ status }) => status)).toEqual([201, 403, 200, 201, 200]);
    const again = await run();
    expect(replayed(again)).toEqual([false, false, false, true, true]);
    expect(again.map(({ status }) => status)).toEqual([201, 403, 200, 201, 200]);
    const [user, , , endpoint] = again.map(({ body }) => body as { id: string });
    expect((await get(test, `/users/${user?.id}`)).status).toBe(200);
    expect(replayed(await run())).toEqual([true, true, true, true, true]);
    await api.call(test, 'DELETE', `/webhook-endpoints/${endpoint?.id}`);
    await api.call(test, 'POST', '/sandbox/reset');
  });

  it.each([2, 4])('by %i callers at once leaves one scenario', async (callers) => {
    const post = async (path: string, options = {}): Promise<ApiResponse> => {
      const response = await api.call(test, 'POST', path, options);
      // On a busy machine the ones before take longer than it waits for them.
      return [409, 503].includes(response.status) ? post(path, options) : response;
    };
    const resets = Array.from({ length: callers }, () => post('/sandbox/reset'));
    const writes = Array.from({ length: 8 }, (_, n) =>
      post('/users', { body: { email: `r${callers}-${n}@sandbox.example` } }),
    );
    const statuses = (await Promise.all([...resets, ...writes])).map(({ status }) => status);
    expect(statuses.slice(0, callers)).toEqual(resets.map(() => 200));
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
    expect((await api.call(test, 'POST', '/sandbox/reset')).status).toBe(200);
    expect(idsOf(await get(test, '/trainings?limit=200'))).toHaveLength(60);
    expect(idsOf(await get(test, '/users?limit=200'))).toHaveLength(12);
  });
});

describe('a mail', () => {
  it('is kept and not sent, and goes with a reset', async () => {
    const mail = await startMailServer();
    const settings = { smtpUrl: mail.url, mailFrom: undefined, mailDir: 'unused' };
    const send = createMailer(settings, pino({ level: 'silent' }));
    const mailer = mailerOf(api.db, systemClock, send);
    const tasks = memberMailTasks({ db: api.db, mailer, invitationUrl: 'https://app.test/' });
    for (const [key, email] of [
      [live, 'real@person.example'],
      [test, 'played@person.example'],
    ] as const)
      expect((await api.call(key, 'POST', '/users', { body: { email } })).status).toBe(201);
    await runJobsOnce(api, tasks);
    expect(mail.received.map(({ to }) => to)).toEqual(['real@person.example']);
    const kept = await get(test, '/sandbox/mails');
    expect(kept.body).toMatchObject({
      data: [{ to: 'played@person.example', body: expect.stringContaining('https://app.test/') }],
      next_cursor: null,
    });
    const app = await appInSandbox(api, 'a');
    expect(await app.v1.sandbox.mails.query({})).toEqual(kept.body);
    await app.admin.team.privacy.set.mutate({ member_detail_enabled: false });
    expect(await get(test, '/sandbox/mails')).toMatchObject({ status: 403 });
    await app.admin.team.privacy.set.mutate({ member_detail_enabled: true });
    await app.v1.sandbox.reset.mutate({});
    expect((await get(test, '/sandbox/mails')).body).toMatchObject({ data: [] });
    // Whatever a team's name is, the subject is the one that would have been sent.
    const odd = { to: SANDBOX_OWNER.email, subject: 'Hi\r\nBcc: x =?utf-8?q?y?= z', text: 'z' };
    for (const teamId of ['team_a', 'team_a:sandbox']) await mailer(teamId, odd);
    const [last] = ((await get(test, '/sandbox/mails')).body as { data: { subject: string }[] })
      .data;
    expect(mail.received.at(-1)?.text).toContain(`Subject: ${last?.subject}`);
  });
});

it('the newest thousand mails are kept', async () => {
  const insert = (id: string) =>
    api.db.transaction(async (tx) =>
      insertMail(tx, 'team_a:sandbox', {
        id,
        recipient: 'x',
        subject: 'x',
        body: 'x',
        created_at: new Date().toISOString(),
      }),
    );
  await api.db.pool.query(
    `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     select 'team_a:sandbox', 'mail_' || n, 'x', 'x', 'x', now() - interval '1 hour'
     from generate_series(1, $1::int) n`,
    [MAILS_MAX],
  );
  await Promise.all(['mail_new1', 'mail_new2', 'mail_new3'].map((id) => insert(id)));
  await insert('mail_new4');
  const { rows } = await api.db.pool.query(
    `select count(*)::int as count, count(*) filter (where id like 'mail_new%')::int as new
     from sandbox_mail
     where team_id = 'team_a:sandbox'`,
  );
  expect(rows).toEqual([{ count: MAILS_MAX, new: 4 }]);
});

it('an announcement of the operator leaves sandboxes out, and counts none of them', async () => {
  const announcement = { version: 'v1', since: '2026-01-01', sunset: '2028-01-01' };
  const onTeamFailure = (): never => expect.fail('a team failed');
  const { teams, mails } = await planAnnouncement(api.db, systemClock, announcement, onTeamFailure);
  expect(teams.map(({ teamId }) => teamId)).toContain('team_a');
  expect(teams.filter(({ teamId }) => isSandbox(teamId))).toEqual([]);
  const to: string[] = [];
  const mailer = async (teamId: string) => void to.push(teamId);
  const onFailure = (): never => expect.fail('a mail was refused');
  const failures = { onFailure, onTeamFailure };
  const shared = { db: api.db, clock: systemClock, mailer, publicUrl: api.url, ...failures };
  expect(await announce(shared, announcement)).toEqual({ sent: mails, failed: 0 });
  expect(to.filter(isSandbox)).toEqual([]);
});

describe('while the details of members are hidden', () => {
  it('no operation of a sandbox shows a person', async () => {
    const app = await appInSandbox(api, 'a');
    await api.call(test, 'POST', '/users', { body: { email: 'hidden@person.example' } });
    await app.admin.team.privacy.set.mutate({ member_detail_enabled: false });
    for (const { method, path, mode } of ENDPOINTS) {
      if (mode !== 'test' || method !== 'GET') continue;
      const { text } = await get(test, path.replace(/\{\w+\}/g, 'x'));
      expect(text).not.toMatch(/@|usr_sandbox|mem_sandbox/);
    }
    await app.admin.team.privacy.set.mutate({ member_detail_enabled: true });
    await app.v1.sandbox.reset.mutate({});
  });
});

describe('the sandbox of a team', () => {
  it('is one, however often and by however many it is created', async () => {
    const platform = await appAsPlatform(api);
    const app = await appAsMember(api, 'b', 'owner');
    expect(await app.admin.sandbox.get.query({})).toEqual({ sandbox: null });
    const made = await Promise.all([
      platform.platform.teams.createSandbox.mutate({ team_id: 'team_b' }),
      app.admin.sandbox.create.mutate({}),
      app.admin.sandbox.create.mutate({ scenario: 'empty' }),
    ]);
    expect(new Set(made.map(({ tenant_id }) => tenant_id))).toEqual(new Set(['team_b:sandbox']));
    expect(new Set(made.map(({ scenario }) => scenario)).size).toBe(1);
    expect((await app.admin.sandbox.get.query({})).sandbox).toEqual(made[0]);
    // Called in the sandbox it is the sandbox itself, not one of its own.
    const inSandbox = await appInSandbox(api, 'b');
    expect(await inSandbox.admin.sandbox.create.mutate({})).toEqual(made[0]);
  });

  it('is opened by the admins of the live team, with their rights of now', async () => {
    const admin = await appInSandbox(api, 'a', 'admin');
    expect((await admin.admin.members.search.query({})).data).toHaveLength(12);
    const wanted = { name: 'by the admin', scopes: ['users:read'] as never };
    expect(await codeOf(admin.admin.apiKeys.create.mutate(wanted))).toBe('forbidden');
    const owner = await appAsMember(api, 'a', 'owner');
    const right = { member_id: 'mem_a_admin', right: 'schnittstellen' } as const;
    await owner.admin.team.grantRight.mutate(right);
    expect(await codeOf(admin.admin.apiKeys.create.mutate(wanted))).toBe('ok');
    await owner.admin.team.withdrawRight.mutate(right);
    const again = { ...wanted, name: 'once more' };
    expect(await codeOf(admin.admin.apiKeys.create.mutate(again))).toBe('forbidden');
    const member = await appInSandbox(api, 'a', 'member');
    expect(await codeOf(member.admin.members.search.query({}))).toBe('forbidden');
  });

  it('is not found where there is none', async () => {
    const nowhere = await appInSandbox(api, 'c', 'admin');
    expect(await codeOf(nowhere.admin.members.search.query({}))).toBe('not_found');
  });

  it('lets none of its members sign in, and takes nothing from the host application', async () => {
    const identity = {
      kind: 'user',
      userId: 'usr_sandbox_amira',
      teamId: 'team_a:sandbox',
    } as const;
    const app = appAs(api, await tokenOf(identity));
    expect(await codeOf(app.admin.members.search.query({}))).toBe('unauthorized');
    const platform = await appAsPlatform(api);
    const update = { team_id: 'team_a:sandbox', plan: 'enterprise' } as const;
    expect(await codeOf(platform.platform.teams.update.mutate(update))).toBe('validation_error');
  });

  it('is closed, ends and is erased with the live team', async () => {
    const platform = await appAsPlatform(api);
    const key = await openSandbox(api, 'b');
    const update = (status: 'active' | 'suspended' | 'ended') =>
      platform.platform.teams.update.mutate({ team_id: 'team_b', status });
    await update('suspended');
    expect(await get(key, '/me')).toMatchObject({ status: 403, body: { code: 'api_disabled' } });
    await update('active');
    expect((await get(key, '/me')).status).toBe(200);
    await update('ended');
    await platform.platform.teams.erase.mutate({ team_id: 'team_b' });
    const { rows } = await api.db.pool.query(
      `select id from team where erasing_since is not null order by id`,
    );
    expect(rows).toEqual([{ id: 'team_b' }, { id: 'team_b:sandbox' }]);
    expect(await get(key, '/me')).toMatchObject({ status: 403, body: { code: 'api_disabled' } });
  });
});
