// What a test key plays in a sandbox: the rows, events and audit entries are those of life.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { newRequestId } from '../../src/core/ids.ts';
import { SANDBOX_ACTOR } from '../../src/core/sandbox.ts';
import { readOptions } from '../../src/client/command-options.ts';
import { play as playByCommand } from '../../src/client/play.ts';
import { endSuspensionOnTime } from '../../src/features/sandbox/suspension-service.ts';
import {
  scoreTraining,
  simulate,
  type ScorePayload,
} from '../../src/features/sandbox/play-service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, appAsPlatform, codeOf } from '../support/app.ts';
import { clockAhead } from '../support/clocks.ts';
import { changeWhileWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Ahead of the tokens of callers, which are of the machine's time. */
const NOW = new Date(Date.now() + 60_000);
const DAY = 86_400_000;
const SANDBOX = 'team_a:sandbox';

let api: TestApi;
let key: string;
const clock = fixedClock(NOW);

beforeAll(async () => {
  api = await startTestApi({
    clock,
    statementTimeoutMs: 60_000,
    seed: makeSeed([makeTeam('a'), makeTeam('b')]),
  });
  key = await openSandbox(api, 'a');
});

beforeEach(async () => {
  clock.advance(1_000);
  const reset = await api.call(key, 'POST', '/sandbox/reset', { body: { scenario: 'typical' } });
  if (reset.status !== 200) throw new Error(reset.text);
  for (const table of ['pending_job', 'webhook_delivery', 'event', 'audit_log'])
    await api.db.pool.query(`delete from ${table} where team_id = $1`, [SANDBOX]);
});

type Json = Record<string, unknown>;
const play = (body: Json, headers: Record<string, string> = {}) =>
  api.call(key, 'POST', '/sandbox/simulate', { body, headers });
const get = async (path: string) => (await api.call(key, 'GET', path)).body as Json;
const listed = async (path: string) => (await get(path))['data'] as Json[];
async function rows(sql: string, values: unknown[] = [SANDBOX]): Promise<Json[]> {
  return (await api.db.pool.query<Json>(sql, values)).rows;
}
const events = () =>
  rows(`select type, data, created_at from event where team_id = $1 order by created_at, id`);
const types = async () => (await events()).map(({ type }) => type);
const audit = async () =>
  (
    await rows(
      `select actor_kind || ' ' || action as what from audit_log where team_id = $1 order by id`,
    )
  ).map(({ what }) => what);
const jobs = () => rows(`select task, payload, run_at from pending_job where team_id = $1`);

/** Runs the jobs that wait, whatever their time is. */
async function runJobs(): Promise<void> {
  for (const { task, payload } of await jobs()) {
    if (task === 'score_sandbox_training')
      await scoreTraining(api.db, clock, payload as ScorePayload);
    if (task === 'end_sandbox_suspension')
      await endSuspensionOnTime(api.db, clock, payload as { teamId: string; until: string });
  }
}

describe('a training', () => {
  it('completes, and is scored some seconds later', async () => {
    const { status, body } = await play({ play: 'training_completed' });
    const made = body as Json;
    const later = new Date(clock.now().getTime() + 10_000);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        play: 'training_completed',
        training_id: expect.stringMatching(/^trn_/) as string,
        member_id: 'mem_sandbox_clara',
        connection_id: null,
        events: ['training.completed', 'evaluation.completed'],
        evaluation_at: later.toISOString(),
        until: null,
      },
    });
    const id = String(made['training_id']);
    expect(await get(`/trainings/${id}`)).toMatchObject({
      status: 'completed',
      user_id: 'usr_sandbox_clara',
      duration_s: 420,
      finished_at: clock.now().toISOString(),
    });
    expect(await types()).toEqual(['training.completed']);
    expect(await jobs()).toMatchObject([
      { task: 'score_sandbox_training', run_at: later.toISOString() },
    ]);
    const before = (await get('/analytics/team'))['totals'] as Json;
    await runJobs();
    expect(await types()).toEqual(['training.completed', 'evaluation.completed']);
    expect(await get(`/trainings/${id}/evaluation`)).toMatchObject({
      score: { total: 71 },
    });
    expect(await get('/analytics/team')).toMatchObject({
      totals: { scored: Number(before['scored']) + 1, sessions: before['sessions'] },
    });
    // Once more: the worker was killed before it could say that it was done.
    await runJobs();
    expect(await types()).toHaveLength(2);
    expect(await audit()).toEqual([
      'api_key sandbox.played',
      'platform training.started',
      'platform training.ended',
      'platform evaluation.saved',
    ]);
  });

  it('is scored at once if the call says so, and completes its assignment', async () => {
    await api.db.pool.query(
      `update assignment set industry_id = 'ind_sandbox_software' where id = 'asg_sandbox_focused'`,
    );
    const body = { play: 'training_completed', assignment_id: 'asg_sandbox_focused' };
    const made = (await play({ ...body, score: 93, delay_s: 0 })).body as Json;
    expect(made['member_id']).toBe('mem_sandbox_felix');
    const assignment = await get('/assignments/asg_sandbox_focused');
    const training = await get(`/trainings/${String(made['training_id'])}`);
    const { situation_id, personality_id, industry_id } = assignment;
    expect(industry_id).toBe('ind_sandbox_software');
    expect(training).toMatchObject({ situation_id, personality_id, industry_id });
    expect(assignment).toMatchObject({
      status: 'done',
      completed_training_id: made['training_id'],
    });
    expect((await events()).map(({ data }) => (data as Json)['score'])).toEqual([undefined, 93]);
    expect(await jobs()).toEqual([]);
  });

  it('is scored sooner in a fast sandbox', async () => {
    const { body } = await api.call(key, 'PATCH', '/sandbox', { body: { speed: 100 } });
    expect(body).toMatchObject({ speed: 100 });
    const made = (await play({ play: 'training_completed' })).body as Json;
    expect(Date.parse(String(made['evaluation_at'])) - clock.now().getTime()).toBe(100);
    await api.call(key, 'PATCH', '/sandbox', { body: { speed: 1 } });
    const said = await rows(
      `select details from audit_log where team_id = $1 and action = 'sandbox.updated' order by id`,
    );
    expect(said.map(({ details }) => details)).toEqual([{ speed: 100 }, { speed: 1 }]);
  });

  it('may have been weeks ago, while its events are of now', async () => {
    const at = new Date(clock.now().getTime() - 80 * DAY).toISOString();
    const made = (await play({ play: 'training_completed', at, delay_s: 0 })).body as Json;
    const id = String(made['training_id']);
    expect(await get(`/trainings/${id}`)).toMatchObject({ finished_at: at });
    const until = new Date(Date.parse(at) + 1000).toISOString();
    const since = new Date(Date.parse(at) - 1000_000).toISOString();
    expect(
      (await listed(`/trainings?since=${since}&until=${until}`)).map((row) => row['id']),
    ).toContain(id);
    expect((await listed('/trainings?limit=1'))[0]?.['id']).not.toBe(id);
    expect((await listed('/evaluations?limit=1'))[0]?.['id']).toBe(id);
    for (const { created_at } of await events()) expect(created_at).toBe(clock.now().toISOString());
    const weeks = await rows(
      `select week::text from analytics_person_week
       where team_id = $1 and user_id = 'usr_sandbox_clara' order by week limit 1`,
    );
    expect(Date.parse(String(weeks[0]?.['week']))).toBeLessThanOrEqual(Date.parse(at));
  });

  it('is scored in time although the clock of the process is ahead', async () => {
    const ahead = clockAhead(30_000);
    const host = { teamId: SANDBOX, actor: SANDBOX_ACTOR, requestId: newRequestId() };
    const wanted = { play: 'training_completed', delay_s: 60 } as const;
    await simulate(api.db, { ...host, at: ahead.now() }, ahead, wanted);
    expect(
      await rows(
        `select run_at between now() and now() + interval '60 s' as is_in_time
         from pending_job
         where team_id = $1`,
      ),
    ).toEqual([{ is_in_time: true }]);
  });

  it('is now if the clock of the caller is 200 ms ahead', async () => {
    const at = new Date(clock.now().getTime() + 200).toISOString();
    const made = await play({ play: 'training_completed', at });
    expect(made.status).toBe(200);
    const id = String((made.body as Json)['training_id']);
    expect(await get(`/trainings/${id}`)).toMatchObject({
      finished_at: clock.now().toISOString(),
    });
  });

  it.each([
    ['in the future', -60_001],
    ['too long ago', 90 * DAY + 1],
  ])('cannot be %s', async (_what, ageMs) => {
    const at = new Date(clock.now().getTime() - ageMs).toISOString();
    expect(await play({ play: 'training_completed', at })).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'at' },
    });
    expect(await events()).toEqual([]);
  });

  it('stays unscored, and is no fault, if the sandbox is reset meanwhile', async () => {
    await play({ play: 'training_completed' });
    await api.call(key, 'POST', '/sandbox/reset', { body: {} });
    await runJobs();
    expect(await types()).toEqual(['training.completed']);
  });

  it('is scored by nobody who did not wait for what else is played or reset', async () => {
    const made = (await play({ play: 'training_completed' })).body as Json;
    await changeWhileWaiting(
      api,
      {
        lock: `select from team where id = '${SANDBOX}' for no key update`,
        // The same as a play does that saves its own score.
        change: `update training
          set status = 'scored'
          where team_id = '${SANDBOX}' and id = '${String(made['training_id'])}'`,
      },
      runJobs,
    );
    expect(await types()).toEqual(['training.completed']);
  });

  it('keeps the score that was saved before its own', async () => {
    const made = (await play({ play: 'training_completed', score: 40 })).body as Json;
    const id = String(made['training_id']);
    const saved = await play({ play: 'evaluation_saved', training_id: id, score: 88 });
    expect(saved.status).toBe(200);
    await runJobs();
    expect(await get(`/trainings/${id}/evaluation`)).toMatchObject({ score: { total: 88 } });
    expect(await types()).toEqual(['training.completed', 'evaluation.completed']);
  });
});

describe('an evaluation', () => {
  it('is saved for the newest training without one, and corrected without an event', async () => {
    const saved = (await play({ play: 'evaluation_saved', score: 60 })).body as Json;
    const id = String(saved['training_id']);
    expect(await types()).toEqual(['evaluation.completed']);
    for (const total of [65, 70]) {
      const body = { play: 'evaluation_corrected', training_id: id };
      expect((await play(body)).body).toMatchObject({ events: [] });
      expect(await get(`/trainings/${id}/evaluation`)).toMatchObject({ score: { total } });
    }
    expect(await types()).toEqual(['evaluation.completed']);
    expect((await listed('/evaluations?limit=1'))[0]?.['id']).toBe(id);
  });

  it('is refused where there is one, and a correction where there is none', async () => {
    const scored = { play: 'evaluation_saved', training_id: 'trn_sandbox_001' };
    expect(await play(scored)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const open = { play: 'evaluation_corrected', training_id: 'trn_sandbox_008' };
    expect(await play(open)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const early = new Date(clock.now().getTime() - 85 * DAY).toISOString();
    const before = { play: 'evaluation_corrected', training_id: 'trn_sandbox_001', at: early };
    expect(await play(before)).toMatchObject({ status: 422, body: { field: 'at' } });
    expect(await events()).toEqual([]);
  });

  it.each([0, 1, 50, 97, 100])('has dimensions whose mean is its total, %d', async (score) => {
    const made = (await play({ play: 'training_completed', score, delay_s: 0 })).body as Json;
    const read = await get(`/trainings/${String(made['training_id'])}/evaluation`);
    const { total, dimensions } = read['score'] as { total: number; dimensions: Json };
    const scores = Object.values(dimensions).map(Number);
    expect(scores).toHaveLength(5);
    expect(total).toBe(score);
    expect(scores.reduce((sum, one) => sum + one, 0) / 5).toBe(score);
    for (const one of scores) expect(one).toBeGreaterThanOrEqual(0);
    for (const one of scores) expect(one).toBeLessThanOrEqual(100);
  });
});

const statusesOf = (answers: readonly { readonly status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);

describe('a member', () => {
  it('accepts an invitation, once', async () => {
    const answers = await Promise.all([
      play({ play: 'invitation_accepted' }),
      play({ play: 'invitation_accepted' }),
    ]);
    expect(statusesOf(answers)).toEqual([200, 409]);
    expect(await get('/users/mem_sandbox_lena')).toMatchObject({ status: 'active' });
    expect((await audit()).filter((what) => what === 'platform member.accepted')).toHaveLength(1);
    const again = { play: 'invitation_accepted', member_id: 'mem_sandbox_lena' };
    expect(await play(again)).toMatchObject({ status: 409 });
  });

  it('who was invited by the scenario becomes the person that the guide names', async () => {
    await play({ play: 'invitation_accepted', member_id: 'mem_sandbox_lena' });
    const lena = { user_id: 'usr_sandbox_lena' };
    expect(await get('/users/mem_sandbox_lena')).toMatchObject(lena);
    await play({ play: 'member_left', member_id: 'mem_sandbox_lena' });
    expect(await invitedAgain('Lena@sandbox.example')).toMatchObject(lena);
  });

  it('who was removed and is invited again is the same person, with their trainings', async () => {
    const trainings = async () => await listed('/trainings?user_id=usr_sandbox_greta');
    const before = await trainings();
    expect(before).not.toEqual([]);
    await play({ play: 'member_left', member_id: 'mem_sandbox_greta' });
    expect(await trainings()).toEqual([]);
    expect(await invitedAgain('GRETA@sandbox.example')).toMatchObject({
      status: 'active',
      user_id: 'usr_sandbox_greta',
    });
    expect(await trainings()).toEqual(before);
  });

  it('who is invited for the first time is a new person', async () => {
    const { user_id } = await invitedAgain('new@sandbox.example');
    expect(user_id).toMatch(/^usr_(?!sandbox)/);
  });

  /** Invites the address, accepts that and reads the member. */
  const invitedAgain = async (email: string): Promise<Json> => {
    const invited = await api.call(key, 'POST', '/users', { body: { email } });
    const { id } = invited.body as { id: string };
    const accepted = await play({ play: 'invitation_accepted', member_id: id });
    if (accepted.status !== 200) throw new Error(accepted.text);
    return get(`/users/${id}`);
  };

  it('leaves, once', async () => {
    const body = { play: 'member_left', member_id: 'mem_sandbox_clara' };
    const answers = await Promise.all([play(body), play(body)]);
    expect(statusesOf(answers)).toEqual([200, 404]);
    expect(await types()).toEqual(['member.removed']);
    expect(await get('/assignments/asg_sandbox_open')).toMatchObject({ status: 'revoked' });
  });

  it('is the newest one, and never the owner', async () => {
    expect((await play({ play: 'member_left' })).body).toMatchObject({
      member_id: 'mem_sandbox_jonas',
    });
    const owner = { play: 'member_left', member_id: 'mem_sandbox_owner' };
    expect(await play(owner)).toMatchObject({ status: 409, body: { code: 'owner' } });
  });

  it('is there for a training in an empty sandbox, too', async () => {
    await api.call(key, 'POST', '/sandbox/reset', { body: { scenario: 'empty' } });
    const made = await play({ play: 'training_completed' });
    expect(made.body).toMatchObject({ member_id: 'mem_sandbox_owner' });
    for (const name of ['evaluation_corrected', 'invitation_accepted', 'crm_sync_failed'])
      expect((await play({ play: name })).status).toBe(409);
  });
});

it('plays a CRM that fails', async () => {
  const { body } = await play({ play: 'crm_sync_failed', reason: 'timeout' });
  expect(body).toMatchObject({ connection_id: 'crm_sandbox' });
  expect((await events())[0]).toMatchObject({
    type: 'crm.sync.failed',
    data: { connection_id: 'crm_sandbox', provider: 'hubspot', reason: 'timeout' },
  });
  const [connection] = await rows(
    `select last_error, failure_streak, sync_token, next_sync_at
     from crm_connection where team_id = $1`,
  );
  expect(connection).toMatchObject({ last_error: 'timeout', failure_streak: 1, sync_token: null });
  const waitMs = Date.parse(String(connection?.['next_sync_at'])) - clock.now().getTime();
  expect(waitMs).toBeGreaterThan(50_000);
  expect(waitMs).toBeLessThan(70_000);
});

describe('a suspension', () => {
  const me = () => api.call(key, 'GET', '/me');
  const statusOf = async (id: string) =>
    (await rows('select status from team where id = $1', [id]))[0]?.['status'];
  const update = async (input: {
    status?: 'active' | 'suspended' | 'ended';
    plan?: 'enterprise' | 'team' | 'starter';
  }) => {
    const platform = await appAsPlatform(api);
    await platform.platform.teams.update.mutate({ team_id: 'team_a', ...input });
  };

  it('closes the sandbox to keys, and ends by its job', async () => {
    const { body } = await play({ play: 'team_suspended' });
    expect((body as Json)['until']).toBe(new Date(clock.now().getTime() + 60_000).toISOString());
    expect(await me()).toMatchObject({ status: 403, body: { code: 'api_disabled' } });
    expect(await jobs()).toMatchObject([{ task: 'end_sandbox_suspension' }]);
    clock.advance(60_000);
    await runJobs();
    expect((await me()).status).toBe(200);
    expect(await statusOf('team_a')).toBe('active');
    expect((await audit()).filter((what) => what === 'platform team.updated')).toHaveLength(2);
    expect(await get('/sandbox')).toMatchObject({ suspended_until: null });
  });

  it('is over at its time although the job is late', async () => {
    await play({ play: 'team_suspended' });
    clock.advance(59_999);
    expect((await me()).status).toBe(403);
    clock.advance(1);
    expect((await me()).status).toBe(200);
    expect((await play({ play: 'training_completed' })).status).toBe(200);
    // What else closes the live team is none of the sandbox's own.
    for (const closing of [{ plan: 'starter' }, { status: 'ended' }] as const) {
      await update(closing);
      expect((await me()).status).toBe(403);
      await update({ plan: 'team', status: 'active' });
      expect((await me()).status).toBe(200);
    }
    await update({ status: 'suspended' });
    expect((await me()).status).toBe(403);
    await runJobs();
    expect((await me()).status).toBe(403);
    await update({ status: 'active' });
    expect((await me()).status).toBe(200);
  });

  it('is ended by an admin, who is not locked out', async () => {
    await play({ play: 'team_suspended' });
    const app = await appInSandbox(api, 'a');
    const { sandbox } = await app.admin.sandbox.get.query({});
    expect(sandbox?.suspended_until).not.toBeNull();
    await app.v1.sandbox.simulate.mutate({ play: 'team_suspended', for_s: 0 });
    expect((await me()).status).toBe(200);
    await play({ play: 'team_suspended' });
    await app.v1.sandbox.reset.mutate({});
    expect((await me()).status).toBe(200);
    // The jobs of both find other suspensions, or none.
    await runJobs();
    expect((await me()).status).toBe(200);
  });

  it('is not played while the live team is being suspended', async () => {
    const release = await holdLock(
      api,
      `select from team where id = '${SANDBOX}' for no key update`,
    );
    const suspended = update({ status: 'suspended' });
    await untilWaiting(api, 1);
    const played = play({ play: 'team_suspended' });
    await untilWaiting(api, 2);
    await release();
    await suspended;
    expect(await played).toMatchObject({ status: 403, body: { code: 'api_disabled' } });
    expect(await jobs()).toEqual([]);
    await update({ status: 'active' });
    expect(await get('/sandbox')).toMatchObject({ suspended_until: null });
  });

  it('is prolonged, and the job of the first one ends nothing', async () => {
    await play({ play: 'team_suspended', for_s: 5 });
    const app = await appInSandbox(api, 'a');
    await app.v1.sandbox.simulate.mutate({ play: 'team_suspended', for_s: 600 });
    clock.advance(6_000);
    const [first] = await jobs();
    await endSuspensionOnTime(
      api.db,
      clock,
      first?.['payload'] as { teamId: string; until: string },
    );
    expect((await me()).status).toBe(403);
    await runJobs();
    expect((await me()).status).toBe(200);
  });

  it.each(['suspended', 'ended'] as const)(
    'gives way to a live team that is %s',
    async (status) => {
      await play({ play: 'team_suspended' });
      await update({ status });
      expect(await statusOf(SANDBOX)).toBe(status);
      clock.advance(60_000);
      await runJobs();
      expect(await statusOf(SANDBOX)).toBe(status);
      expect((await me()).status).toBe(403);
      await update({ status: 'active' });
      expect((await me()).status).toBe(200);
    },
  );

  it('does not end while the live team is suspended, nor by a change of it', async () => {
    await play({ play: 'team_suspended' });
    await update({ plan: 'enterprise' });
    expect((await me()).status).toBe(403);
    await update({ status: 'suspended' });
    await runJobs();
    expect(await statusOf(SANDBOX)).toBe('suspended');
    await update({ status: 'active' });
    expect((await me()).status).toBe(200);
  });

  it('ends when the live team is suspended: keys do not wait for the job', async () => {
    await play({ play: 'team_suspended' });
    await update({ status: 'suspended' });
    clock.advance(60_000);
    expect((await me()).status).toBe(403);
    await update({ status: 'active' });
    expect((await get('/sandbox')).suspended_until).toBeNull();
  });
});

it.each([1, 2, 3])('agrees with the live team after changes at once, round %d', async () => {
  const platform = await appAsPlatform(api);
  const set = (status: 'active' | 'suspended') =>
    platform.platform.teams.update.mutate({ team_id: 'team_a', status });
  const statusOfSandbox = async () =>
    (await rows('select status from team where id = $1'))[0]?.['status'];
  await Promise.all([play({ play: 'team_suspended' }), set('suspended')]);
  expect(await statusOfSandbox()).toBe('suspended');
  await Promise.all([runJobs(), set('active')]);
  await runJobs();
  expect(await statusOfSandbox()).toBe('active');
  await play({ play: 'team_suspended' });
  await Promise.all([runJobs(), set('suspended')]);
  await runJobs();
  expect(await statusOfSandbox()).toBe('suspended');
  await set('active');
  expect(await statusOfSandbox()).toBe('active');
});

it('nearly reaches the rate limit of this minute', async () => {
  const { body } = await play({ play: 'rate_limit_nearly_reached', remaining: 2 });
  const minute = Math.floor(clock.now().getTime() / 60_000);
  expect((body as Json)['until']).toBe(new Date((minute + 1) * 60_000).toISOString());
  const statuses = [];
  for (let call = 0; call < 4; call += 1) statuses.push((await api.call(key, 'GET', '/me')).status);
  expect(statuses).toEqual([200, 200, 429, 429]);
  // Nobody gets calls by a play, whatever was left before.
  const { v1 } = await appInSandbox(api, 'a');
  const leftAfter = async (...plays: number[]) => {
    clock.advance(60_000);
    for (const remaining of plays)
      await v1.sandbox.simulate.mutate({ play: 'rate_limit_nearly_reached', remaining });
    return Number((await api.call(key, 'GET', '/me')).headers['ratelimit-remaining']);
  };
  const usual = await leftAfter();
  expect(await leftAfter(1_000)).toBe(usual);
  expect(await leftAfter(9, 200, 3, 300)).toBe(2);
  clock.advance(60_000);
  expect((await api.call(key, 'GET', '/me')).status).toBe(200);
});

describe('a call', () => {
  it('names the field that a play does not take', async () => {
    const body = { play: 'member_left', score: 5 };
    expect(await play(body)).toMatchObject({ status: 422, body: { field: 'score' } });
    expect(await play({ play: 'nothing' })).toMatchObject({ status: 422, body: { field: 'play' } });
    const unknown = { play: 'training_completed', member_id: 'mem_x' };
    expect(await play(unknown)).toMatchObject({ status: 404, body: { field: 'member_id' } });
    const elsewhere = {
      play: 'training_completed',
      assignment_id: 'asg_sandbox_open',
      user_id: 'usr_sandbox_david',
    };
    expect(await play(elsewhere)).toMatchObject({ status: 422, body: { field: 'assignment_id' } });
    expect(await events()).toEqual([]);
    expect(await audit()).toEqual([]);
  });

  it('is not there for a live key, and acts once under an Idempotency-Key', async () => {
    const live = await api.call(api.key('team_a'), 'POST', '/sandbox/simulate', {
      body: { play: 'training_completed' },
    });
    expect(live.status).toBe(404);
    const headers = { 'idempotency-key': 'once' };
    const body = { play: 'training_completed', delay_s: 0 };
    const first = await play(body, headers);
    const second = await play(body, headers);
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(await types()).toHaveLength(2);
  });

  it('waits for a reset, and finds what that has brought back', async () => {
    const release = await holdLock(api, lockWhole('evaluation'));
    const reset = api.call(key, 'POST', '/sandbox/reset', { body: { scenario: 'typical' } });
    await untilWaiting(api, 1);
    const left = play({ play: 'member_left', member_id: 'mem_sandbox_clara' });
    await untilWaiting(api, 2);
    await release();
    expect([(await reset).status, (await left).status]).toEqual([200, 200]);
    expect((await types()).filter((type) => type === 'member.removed')).toHaveLength(1);
  });

  it('is one of the admins, in the sandbox only', async () => {
    const app = await appInSandbox(api, 'a', 'admin');
    const played = await app.v1.sandbox.simulate.mutate({ play: 'member_left' });
    expect(played.member_id).toBe('mem_sandbox_jonas');
    expect(await audit()).toEqual(['user sandbox.played', 'platform member.removed']);
    const member = await appInSandbox(api, 'a', 'member');
    const refused = member.v1.sandbox.simulate.mutate({ play: 'member_left' });
    expect(await codeOf(refused)).toBe('forbidden');
    const none = await appInSandbox(api, 'b', 'owner');
    for (const nowhere of [none, await appAsMember(api, 'a', 'admin')])
      expect(await codeOf(nowhere.v1.sandbox.simulate.mutate({ play: 'member_left' }))).toBe(
        'not_found',
      );
    expect(await app.v1.sandbox.update.mutate({ speed: 7 })).toMatchObject({ speed: 7 });
    const known = (await api.call(key, 'GET', '/sandbox')).headers['etag'] ?? '';
    const setTo = (speed: number) =>
      api.call(key, 'PATCH', '/sandbox', { body: { speed }, headers: { 'if-match': known } });
    expect((await setTo(8)).status).toBe(200);
    // It is another one by now.
    expect((await setTo(9)).status).toBe(412);
    await app.v1.sandbox.update.mutate({ speed: 1 });
  });
});

describe('the command', () => {
  const run = async (args: string[], apiKey: string): Promise<string[]> => {
    const options = readOptions(['trigger', ...args], { API_KEY: apiKey, API_URL: api.url });
    if (options.command !== 'play') throw new Error('it plays nothing');
    const lines: string[] = [];
    await playByCommand(options, {
      print: (line) => lines.push(line),
      signal: new AbortController().signal,
    });
    return lines;
  };

  it('plays with a test key', async () => {
    const [text] = await run(['training_completed', '--score', '66', '--delay-s', '0'], key);
    expect(text).toContain('training_completed -> training.completed, evaluation.completed');
    expect((await events()).map(({ data }) => (data as Json)['score'])).toEqual([undefined, 66]);
    const [json] = await run(['member_left', '--json'], key);
    expect(JSON.parse(json ?? '')).toMatchObject({ member_id: 'mem_sandbox_jonas' });
  });

  it('shows what the API refuses', async () => {
    await expect(run(['member_left', '--score', '6'], key)).rejects.toThrow('score');
    await expect(run(['member_left'], `${key}x`)).rejects.toThrow('401 unauthorized');
  });
});
