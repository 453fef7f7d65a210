import { describe, expect, test } from 'vitest';
import { codeOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { api, describeTraining, eventsOf, platform, usePlatform } from '../support/platform.ts';
import { holdLock } from '../support/locks.ts';
import { readRollups, recount } from '../support/rollups.ts';
import { makeMember, makeTeam, memberId, userId } from '../support/seed.ts';

usePlatform([
  makeTeam('a', {
    members: [makeMember('a', 'left', { status: 'ended' })],
    assignments: ['member', 'admin'].map((name) => ({
      id: `asg_${name}`,
      member_id: memberId('a', name),
      title: `asg_${name}`,
    })),
  }),
  makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
  makeTeam('suspended', { status: 'suspended' }),
  makeTeam('race'),
  makeTeam('orders'),
]);

const END = { finished_at: '2026-11-17T09:12:00.000Z', duration_s: 700 };
const start = (team: string, id: string, fields = {}) =>
  platform.trainings.start.mutate(describeTraining(team, id, fields));
const end = (team: string, id: string, fields = {}) =>
  platform.trainings.end.mutate(describeTraining(team, id, { ...END, ...fields }));
const abort = (team: string, id: string, fields = {}) =>
  platform.trainings.abort.mutate(describeTraining(team, id, fields));
const readTraining = async (id: string) =>
  (await api.call(api.key('team_a'), 'GET', `/trainings/${id}`)).body;
const sessionsOf = async (team: string, name = 'member') =>
  (await readRollups(api.db.pool, `team_${team}`)).people[userId(team, name)]?.sessions ?? 0;

describe('start, end, abort', () => {
  test('the API shows a session at once; its end raises an event and is counted', async () => {
    const details = {
      external_ref: { lms: 1 },
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
      role_id: 'rol_buyer',
      assignment_id: 'asg_member',
    };
    const started = await start('a', 'trn_1', {
      ...details,
      created_at: '2026-11-17T10:00:00+01:00',
    });
    expect(started).toEqual({
      id: 'trn_1',
      user_id: userId('a', 'member'),
      status: 'started',
      source: 'app',
      created_at: '2026-11-17T09:00:00.000Z',
      finished_at: null,
      duration_s: null,
      ...details,
    });
    expect(await readTraining('trn_1')).toEqual(started);
    expect(await sessionsOf('a')).toBe(0);
    const ended = await end('a', 'trn_1');
    expect(ended).toEqual({ ...started, status: 'completed', ...END });
    expect(await readTraining('trn_1')).toEqual(ended);
    expect(await sessionsOf('a')).toBe(1);
    const data = {
      team_id: 'team_a',
      training_id: 'trn_1',
      user_id: userId('a', 'member'),
      assignment_id: 'asg_member',
      ...END,
    };
    expect(await eventsOf(api, 'team_a', 'trn_1')).toEqual([{ type: 'training.completed', data }]);
    expect(
      (await auditOf(api, 'team_a')).map((entry) => [
        entry.actor_kind,
        entry.action,
        entry.target_id,
      ]),
    ).toEqual([
      ['platform', 'training.started', 'trn_1'],
      ['platform', 'training.ended', 'trn_1'],
    ]);
  });

  test('a repeated call changes nothing: no event, no figure, no audit entry', async () => {
    const answers = [
      await end('a', 'trn_2'),
      await end('a', 'trn_2', { finished_at: '2026-11-17T11:00:00Z' }),
    ];
    answers.push(await start('a', 'trn_2'), await abort('a', 'trn_2'), await end('a', 'trn_2'));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 'completed', ...END });
    expect(await eventsOf(api, 'team_a', 'trn_2')).toHaveLength(1);
    expect(await sessionsOf('a')).toBe(2);
    expect(
      (await auditOf(api, 'team_a')).filter(({ target_id }) => target_id === 'trn_2'),
    ).toHaveLength(1);
  });

  test('in any order, only the first end raises an event and counts as a session', async () => {
    const steps = { start, end, abort };
    const kinds = ['start', 'end', 'abort'] as const;
    const orders = kinds.flatMap((one) =>
      kinds.flatMap((two) => kinds.map((three) => [one, two, three])),
    );
    for (const [index, order] of orders.entries()) {
      const id = `trn_o${index}`;
      const news = [
        { situation_id: 'sit_cold' },
        { personality_id: 'per_calm' },
        { industry_id: 'ind_saas' },
      ];
      const endOf = (place: number) => (place < 0 ? null : `2026-11-17T09:1${place}:00.000Z`);
      const answers = [];
      for (const [place, kind] of order.entries())
        answers.push(
          await steps[kind]('orders', id, {
            ...news[place],
            ...(kind === 'end' && { finished_at: endOf(place) }),
          }),
        );
      const finished_at = endOf(order.indexOf('end'));
      expect(answers.at(-1)).toMatchObject({ ...Object.assign({}, ...news), finished_at });
      const ended = { type: 'training.completed', data: { training_id: id, finished_at } };
      expect(await eventsOf(api, 'team_orders', id)).toMatchObject(
        finished_at === null ? [] : [ended],
      );
    }
    expect(await sessionsOf('orders')).toBe(orders.filter((order) => order.includes('end')).length);
  });

  test('no step waits for a step of another person', async () => {
    await start('race', 'trn_free');
    const other = userId('race', 'admin');
    await holdLock(
      api,
      `select from person where team_id = 'team_race' and id = '${other}' for update`,
    );
    expect(await start('race', 'trn_free')).toMatchObject({ status: 'started' });
  });

  test('an aborted session has no event and no count, unless its end is recorded', async () => {
    expect(await abort('a', 'trn_3')).toMatchObject({ status: 'aborted', finished_at: null });
    expect(await start('a', 'trn_3')).toMatchObject({ status: 'aborted' });
    expect(await eventsOf(api, 'team_a', 'trn_3')).toEqual([]);
    expect(await sessionsOf('a')).toBe(2);
    expect(await end('a', 'trn_3')).toMatchObject({ status: 'completed' });
    expect(await eventsOf(api, 'team_a', 'trn_3')).toHaveLength(1);
    expect(await sessionsOf('a')).toBe(3);
  });

  test('a call adds missing values and keeps stored ones', async () => {
    await end('a', 'trn_4');
    const filled = await start('a', 'trn_4', { situation_id: 'sit_cold', external_ref: { a: 1 } });
    expect(filled).toMatchObject({
      status: 'completed',
      situation_id: 'sit_cold',
      external_ref: { a: 1 },
    });
    expect(
      await start('a', 'trn_4', { situation_id: 'sit_renewal', external_ref: { b: 2 } }),
    ).toEqual(filled);
  });

  test('another person or another start time is a conflict, also for calls at once', async () => {
    await start('a', 'trn_5');
    expect(await codeOf(end('a', 'trn_5', { user_id: userId('a', 'admin') }))).toBe('conflict');
    expect(await codeOf(end('a', 'trn_5', { created_at: '2026-11-17T09:00:00.001Z' }))).toBe(
      'conflict',
    );
    for (let round = 0; round < 10; round += 1) {
      const codes = await Promise.all(
        ['member', 'admin', 'owner'].map((name) =>
          codeOf(start('race', `trn_r${round}`, { user_id: userId('race', name) })),
        ),
      );
      expect(codes.toSorted()).toEqual(['conflict', 'conflict', 'ok']);
    }
  });

  test('former members and suspended teams are recorded; unknown people are not', async () => {
    expect(await codeOf(end('a', 'trn_left', { user_id: userId('a', 'left') }))).toBe('ok');
    expect(await codeOf(end('suspended', 'trn_s'))).toBe('ok');
    expect(await codeOf(start('a', 'trn_6', { user_id: userId('quiet', 'member') }))).toBe(
      'not_found',
    );
    expect(await codeOf(start('nowhere', 'trn_6'))).toBe('not_found');
  });

  test("the assignment must be the person's; a deleted one is left out", async () => {
    expect(await codeOf(start('a', 'trn_7', { assignment_id: 'asg_admin' }))).toBe(
      'validation_error',
    );
    expect(await start('a', 'trn_7', { assignment_id: 'asg_gone' })).toMatchObject({
      assignment_id: null,
    });
    const linked = await end('a', 'trn_7', { assignment_id: 'asg_member' });
    expect(linked).toMatchObject({ assignment_id: 'asg_member', status: 'completed' });
  });

  test('impossible values are a validation error', async () => {
    expect(await codeOf(end('a', 'trn_8', { finished_at: '2026-11-17T08:59:59Z' }))).toBe(
      'validation_error',
    );
    expect(await codeOf(start('a', 'trn_8', { external_ref: { x: 'x'.repeat(70_000) } }))).toBe(
      'validation_error',
    );
    expect(await codeOf(start('a', 'trn_8', { sitaution_id: 'sit_cold' }))).toBe(
      'validation_error',
    );
    expect(await codeOf(start('a', 'trn_8', { source: 'The App' }))).toBe('validation_error');
  });

  test('the event names the person only if member details are on', async () => {
    await end('quiet', 'trn_q1');
    await api.db.pool.query(`update team set member_detail_enabled = true where id = 'team_quiet'`);
    await end('quiet', 'trn_q2');
    await api.db.pool.query(
      `update team set member_detail_enabled = false where id = 'team_quiet'`,
    );
    await end('quiet', 'trn_q2');
    await end('quiet', 'trn_q3');
    const persons = (await eventsOf(api, 'team_quiet')).map(({ data }) => [
      data['training_id'],
      data['user_id'],
    ]);
    expect(persons).toEqual([
      ['trn_q1', undefined],
      ['trn_q2', userId('quiet', 'member')],
      ['trn_q3', undefined],
    ]);
  });
});

test('a training that meets the deletion of its assignment is kept without it', async () => {
  const combination = {
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
  };
  for (let round = 0; round < 25; round += 1) {
    const body = { member_id: memberId('race', 'member'), title: 'Race', ...combination };
    const created = await api.call(api.key('team_race'), 'POST', '/assignments', { body });
    const { id } = created.body as { id: string };
    const steps = [`trn_d${round}`, `trn_e${round}`].flatMap((training) => [
      start('race', training, { assignment_id: id }),
      end('race', training, { assignment_id: id }),
      platform.evaluations.save
        .mutate({
          team_id: 'team_race',
          training_id: training,
          saved_at: END.finished_at,
          score: { total: 5, spread: null, dimensions: {} },
        })
        .catch(() => null),
    ]);
    const [removed] = await Promise.all([
      api.call(api.key('team_race'), 'DELETE', `/assignments/${id}`),
      ...steps,
    ]);
    expect(removed.status).toBe(200);
  }
  const { rows } = await api.db.pool.query(
    `select count(*)::int as trainings, count(assignment_id)::int as linked
     from training
     where team_id = 'team_race' and id ~ '^trn_[de]'`,
  );
  expect(rows).toEqual([{ trainings: 50, linked: 0 }]);
  expect(await readRollups(api.db.pool, 'team_race')).toEqual(
    await recount(api.db.pool, 'team_race'),
  );
});
