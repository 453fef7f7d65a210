import { describe, expect, test } from 'vitest';
import { makeSession } from '../support/analytics.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import {
  api,
  describeEvaluation,
  describeTraining,
  eventsOf,
  platform,
  usePlatform,
} from '../support/platform.ts';
import { readRollups, recount } from '../support/rollups.ts';
import { makeMember, makeTeam, makeTraining, memberId, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const assignments = ['open', 'twice', 'again', 'late'].map((name) => ({
  id: `asg_${name}`,
  member_id: memberId('a', 'member'),
  title: name,
}));
usePlatform(
  [
    makeTeam('a', { assignments }),
    makeTeam('seeded', { trainings: [makeTraining('seeded', 'trn_seeded')] }),
    makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
    makeTeam('race'),
    makeTeam('waits'),
    makeTeam('below', {
      members: ['x', 'y'].map((name) => makeMember('below', name)),
      trainings: ['owner', 'admin', 'x', 'y'].map((name) =>
        makeSession(userId('below', name), '2026-11-17T09:00:00Z', 71),
      ),
    }),
  ],
  'scoring',
);

const end = (team: string, id: string, fields: object = {}) =>
  platform.trainings.end.mutate(
    describeTraining(team, id, { finished_at: '2026-11-17T09:12:00Z', ...fields }),
  );
const save = (team: string, id: string, total: number | null, savedAt?: string) =>
  platform.evaluations.save.mutate(describeEvaluation(team, id, total, savedAt));
const completions = async (team: string, id: string) =>
  (await eventsOf(api, `team_${team}`, id)).filter(({ type }) => type === 'evaluation.completed');
const expectTrueRollups = async (teamId: string) =>
  expect(await readRollups(api.db.pool, teamId)).toEqual(await recount(api.db.pool, teamId));
const readAssignment = async (id: string) =>
  (await api.call(api.key('team_a'), 'GET', `/assignments/${id}`)).body as Record<string, unknown>;

describe('saving an evaluation', () => {
  test('that waited stores it under a time after its wait, or a poll could miss it', async () => {
    await end('waits', 'trn_waited');
    const release = await holdLock(
      api,
      `select from training where team_id = 'team_waits' and id = 'trn_waited' for update`,
    );
    const saved = save('waits', 'trn_waited', 60);
    await untilWaiting(api, 1);
    const { rows } = await api.db.pool.query<{ at: string }>('select clock_timestamp() as at');
    await release();
    await saved;
    const path = `/evaluations?updated_since=${new Date(rows[0]?.at ?? 0).toISOString()}`;
    const { body } = await api.call(api.key('team_waits'), 'GET', path);
    expect(body.data).toMatchObject([{ id: 'trn_waited' }]);
  });

  test('before its training ends lists it again, with the end, for whoever polls', async () => {
    await platform.trainings.start.mutate(describeTraining('waits', 'trn_early'));
    await save('waits', 'trn_early', 60);
    const storedAt = async () =>
      (
        await api.db.pool.query<{ at: string }>(
          `select stored_at as at from evaluation where training_id = 'trn_early'`,
        )
      ).rows[0]?.at ?? '';
    const since = Date.parse(await storedAt()) + 1;
    await until(() => Date.now() > since + 1);
    await end('waits', 'trn_early');
    const path = `/evaluations?updated_since=${new Date(since).toISOString()}`;
    const { body } = await api.call(api.key('team_waits'), 'GET', path);
    const ended = { id: 'trn_early', finished_at: '2026-11-17T09:12:00.000Z' };
    expect(body.data).toMatchObject([ended]);
    const listedAt = await storedAt();
    await end('waits', 'trn_early');
    expect(await storedAt()).toBe(listedAt);
  });

  test('of less than nothing counts its member in the lowest step of the chart', async () => {
    await end('below', 'trn_below');
    await save('below', 'trn_below', -25);
    const app = await appAsMember(api, 'below', 'owner');
    const { people } = await app.admin.analytics.results.query({});
    expect(people?.best.map(({ avg_score }) => avg_score)).toEqual([71, 71, 71, 71, -25]);
    expect(people?.spread).toEqual([1, 0, 0, 0, 0, 0, 0, 4, 0, 0]);
  });

  test('scores the training, finishes its assignment, updates analytics and events', async () => {
    await end('a', 'trn_1', { assignment_id: 'asg_open' });
    const open = { status: 'open', completed_training_id: null };
    expect(await readAssignment('asg_open')).toMatchObject(open);
    expect(await save('a', 'trn_1', 71)).toEqual({
      training_id: 'trn_1',
      saved_at: '2026-11-17T09:20:00.000Z',
    });
    const get = async (path: string) => (await api.call(api.key('team_a'), 'GET', path)).body;
    expect(await get('/trainings/trn_1')).toMatchObject({
      status: 'scored',
      finished_at: '2026-11-17T09:12:00.000Z',
    });
    expect(await get('/trainings/trn_1/evaluation')).toEqual({
      training_id: 'trn_1',
      user_id: userId('a', 'member'),
      score: { dimensions: { closing: 71 }, total: 71, spread: 2.5 },
      tips: [{ issue: 'i', moment: 'm', principle: 'p', rewrite: 'r', impact: 'x' }],
      goal: 'partial',
      methodology: null,
      strongest: null,
      biggest_lever: null,
    });
    expect(await get('/analytics/team')).toMatchObject({
      totals: { scored: 1, sessions: 1, avg_score: 71 },
      dimensions: [{ dimension: 'closing', value: 71 }],
    });
    expect(await readAssignment('asg_open')).toMatchObject({
      status: 'done',
      completed_training_id: 'trn_1',
    });
    const data = {
      team_id: 'team_a',
      training_id: 'trn_1',
      user_id: userId('a', 'member'),
      score: 71,
    };
    const events = await eventsOf(api, 'team_a');
    expect(events.map(({ type }) => type)).toEqual(['training.completed', 'evaluation.completed']);
    expect(events[1]?.data).toEqual(data);
    await expectTrueRollups('team_a');
  });

  test('again keeps the one saved last, in any order; the event is raised once', async () => {
    await end('a', 'trn_2');
    await save('a', 'trn_2', 50, '2026-11-17T10:00:00Z');
    expect(await save('a', 'trn_2', 60, '2026-11-17T12:00:00Z')).toMatchObject({
      saved_at: '2026-11-17T12:00:00.000Z',
    });
    expect(await save('a', 'trn_2', 55, '2026-11-17T11:00:00Z')).toMatchObject({
      saved_at: '2026-11-17T12:00:00.000Z',
    });
    expect(await save('a', 'trn_2', 99, '2026-11-17T12:00:00Z')).toMatchObject({
      saved_at: '2026-11-17T12:00:00.000Z',
    });
    const { body } = await api.call(api.key('team_a'), 'GET', '/trainings/trn_2/evaluation');
    expect(body).toMatchObject({ score: { total: 60 } });
    expect((await completions('a', 'trn_2')).map(({ data }) => data['score'])).toEqual([50]);
    await expectTrueRollups('team_a');
    await save('a', 'trn_2', null, '2026-11-17T13:00:00Z');
    await expectTrueRollups('team_a');
  });

  test('without a total removes the week that had no other score of the person', async () => {
    await end('race', 'trn_week', { created_at: '2026-01-04T23:59:59.999Z' });
    await save('race', 'trn_week', 80, '2026-01-05T00:00:00Z');
    expect(Object.keys((await readRollups(api.db.pool, 'team_race')).weeks)).toEqual([
      `${userId('race', 'member')} 2025-12-29`,
    ]);
    await save('race', 'trn_week', null, '2026-01-06T00:00:00Z');
    expect((await readRollups(api.db.pool, 'team_race')).weeks).toEqual({});
    await expectTrueRollups('team_race');
  });

  test('before the training ends counts it once, and the end still raises its event', async () => {
    await platform.trainings.start.mutate(describeTraining('a', 'trn_3'));
    await save('a', 'trn_3', 40);
    await expectTrueRollups('team_a');
    expect(await end('a', 'trn_3')).toMatchObject({
      status: 'scored',
      finished_at: '2026-11-17T09:12:00.000Z',
    });
    await expectTrueRollups('team_a');
    expect((await eventsOf(api, 'team_a', 'trn_3')).map(({ type }) => type)).toEqual([
      'evaluation.completed',
      'training.completed',
    ]);
  });

  test('of a seeded training that was scored already raises no event', async () => {
    await save('seeded', 'trn_seeded', 10, '2026-11-17T13:00:00Z');
    expect(await eventsOf(api, 'team_seeded')).toEqual([]);
    await expectTrueRollups('team_seeded');
  });

  test('is not_found for an unknown training', async () => {
    expect(await codeOf(save('a', 'trn_unknown', 1))).toBe('not_found');
    expect(await codeOf(save('a', 'trn_seeded', 1))).toBe('not_found');
    expect(await codeOf(save('nowhere', 'trn_1', 1))).toBe('not_found');
    const wrong = {
      ...describeEvaluation('a', 'trn_1', 1),
      score: { total: 1, spread: null, dimensions: { charm: 1 } },
    };
    expect(await codeOf(platform.evaluations.save.mutate(wrong as never))).toBe('validation_error');
  });

  test('is not_found for a training that begins meanwhile: it is not locked', async () => {
    const beginning = await api.db.pool.connect();
    await beginning.query('begin');
    await beginning.query(lockWhole('assignment'));
    await beginning.query(
      `insert into training (team_id, id, user_id, status, created_at)
       values ('team_race', 'trn_begins', '${userId('race', 'member')}', 'started', now())`,
    );
    const saved = codeOf(save('race', 'trn_begins', 5));
    await untilWaiting(api, 1);
    await beginning.query('commit');
    beginning.release();
    expect(await saved).toBe('not_found');
    await expectTrueRollups('team_race');
    await api.db.pool.query(`delete from training where id = 'trn_begins'`);
  });

  test('raises an event with person and score only if member details are on', async () => {
    const set = (on: boolean) =>
      api.db.pool.query('update team set member_detail_enabled = $1 where id = $2', [
        on,
        'team_quiet',
      ]);
    for (const id of ['trn_q1', 'trn_q2']) await end('quiet', id);
    await save('quiet', 'trn_q1', 30);
    await set(true);
    await save('quiet', 'trn_q2', 31);
    await set(false);
    expect((await completions('quiet', 'trn_q1')).map(({ data }) => data)).toEqual([
      { team_id: 'team_quiet', training_id: 'trn_q1' },
    ]);
    expect((await completions('quiet', 'trn_q2')).map(({ data }) => data)).toEqual([
      {
        team_id: 'team_quiet',
        training_id: 'trn_q2',
        user_id: userId('quiet', 'member'),
        score: 31,
      },
    ]);
  });
});

describe('the assignment of a scored training', () => {
  test('that was reopened stays open at a later save; the next training finishes it', async () => {
    await end('a', 'trn_t1', { assignment_id: 'asg_twice' });
    await save('a', 'trn_t1', 20, '2026-11-17T10:00:00Z');
    await api.call(api.key('team_a'), 'PATCH', '/assignments/asg_twice', {
      body: { status: 'open' },
    });
    await save('a', 'trn_t1', 25, '2026-11-17T11:00:00Z');
    expect(await readAssignment('asg_twice')).toMatchObject({ status: 'open' });
    await end('a', 'trn_t2', { assignment_id: 'asg_twice' });
    await save('a', 'trn_t2', 30);
    expect(await readAssignment('asg_twice')).toMatchObject({
      status: 'done',
      completed_training_id: 'trn_t2',
    });
    await end('a', 'trn_t3', { assignment_id: 'asg_twice' });
    await save('a', 'trn_t3', 30);
    expect(await readAssignment('asg_twice')).toMatchObject({ completed_training_id: 'trn_t2' });
  });

  test('that was reopened stays open whatever else is reported of that training', async () => {
    const step = { assignment_id: 'asg_again' };
    const { start, abort } = platform.trainings;
    await start.mutate(describeTraining('a', 'trn_again', step));
    await save('a', 'trn_again', 20, '2026-11-17T10:00:00Z');
    expect(await readAssignment('asg_again')).toMatchObject({ status: 'done' });
    await api.call(api.key('team_a'), 'PATCH', '/assignments/asg_again', {
      body: { status: 'open' },
    });
    const reports: Readonly<Record<string, () => Promise<unknown>>> = {
      'more of its description': () =>
        start.mutate(describeTraining('a', 'trn_again', { ...step, role_id: 'rol_a' })),
      'an abort': () =>
        abort.mutate(describeTraining('a', 'trn_again', { ...step, industry_id: 'ind_a' })),
      'its end': () => end('a', 'trn_again', step),
      'a correction': () => save('a', 'trn_again', 25, '2026-11-17T11:00:00Z'),
    };
    const completedBy: string[] = [];
    for (const [report, send] of Object.entries(reports)) {
      await send();
      if ((await readAssignment('asg_again'))['status'] !== 'open') completedBy.push(report);
    }
    expect(completedBy).toEqual([]);
  });

  test('is done as soon as it is linked to a scored training', async () => {
    await end('a', 'trn_l');
    await save('a', 'trn_l', 20);
    await platform.trainings.start.mutate(
      describeTraining('a', 'trn_l', { assignment_id: 'asg_late' }),
    );
    expect(await readAssignment('asg_late')).toMatchObject({
      status: 'done',
      completed_training_id: 'trn_l',
    });
  });
});

test('thirty saves at once for three people count each training once', async () => {
  const names = ['member', 'admin', 'owner'];
  const ids = Array.from({ length: 15 }, (_, index) => ({
    id: `trn_m${index}`,
    name: names[index % 3] ?? '',
  }));
  for (const { id, name } of ids) await end('race', id, { user_id: userId('race', name) });
  const codes = await Promise.all(
    ids.flatMap(({ id }, index) => [
      codeOf(save('race', id, index, '2026-11-17T10:00:00Z')),
      codeOf(save('race', id, index + 50, '2026-11-17T10:00:01Z')),
    ]),
  );
  expect(new Set(codes)).toEqual(new Set(['ok']));
  for (const { id } of ids) expect(await completions('race', id)).toHaveLength(1);
  const { rows } = await api.db.pool.query(
    `select min(total) as lowest, count(*)::int as n
     from evaluation
     where team_id = 'team_race' and training_id like 'trn_m%'`,
  );
  expect(rows).toEqual([{ lowest: 50, n: 15 }]);
  await expectTrueRollups('team_race');
});
