import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import {
  describeEvaluation,
  describeTraining,
  eventsOf,
  platformOf,
  type Platform,
} from '../support/platform.ts';
import { readRollups, recount } from '../support/rollups.ts';
import { makeSeed, makeTeam, makeTraining, memberId, userId } from '../support/seed.ts';

let api: TestApi;
let platform: Platform;
beforeAll(async () => {
  const assignments = ['open', 'twice', 'late', 'p0', 'p1'].map((name) => ({
    id: `asg_${name}`,
    member_id: memberId('a', 'member'),
    title: name,
  }));
  const seed = makeSeed([
    makeTeam('a', { assignments }),
    makeTeam('seeded', { trainings: [makeTraining('seeded', 'trn_seeded')] }),
    makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
    makeTeam('race'),
    makeTeam('random', {
      assignments: [{ id: 'asg_random', member_id: memberId('random', 'member'), title: 'r' }],
    }),
  ]);
  api = await startTestApi({ seed });
  platform = await platformOf(api, 'scoring');
});

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
  test('scores the training and finishes its assignment: evaluation, analytics and event are there at once', async () => {
    await end('a', 'trn_1', { assignment_id: 'asg_open' });
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

  test('again, the later one stands, in whatever order they come; the event is raised once', async () => {
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

  test('of a training whose person is on record in a week without another score, an evaluation without a total leaves no week', async () => {
    await end('race', 'trn_week', { created_at: '2026-01-04T23:59:59.999Z' });
    await save('race', 'trn_week', 80, '2026-01-05T00:00:00Z');
    expect(Object.keys((await readRollups(api.db.pool, 'team_race')).weeks)).toEqual([
      `${userId('race', 'member')} 2025-12-29`,
    ]);
    await save('race', 'trn_week', null, '2026-01-06T00:00:00Z');
    expect((await readRollups(api.db.pool, 'team_race')).weeks).toEqual({});
    await expectTrueRollups('team_race');
  });

  test('before the end counts the session once, and the end still raises its event', async () => {
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

  test('of a training that was scored before this service had the event raises none', async () => {
    await save('seeded', 'trn_seeded', 10, '2026-11-17T13:00:00Z');
    expect(await eventsOf(api, 'team_seeded')).toEqual([]);
    await expectTrueRollups('team_seeded');
  });

  test('is not_found for a training that is not known here', async () => {
    expect(await codeOf(save('a', 'trn_unknown', 1))).toBe('not_found');
    expect(await codeOf(save('a', 'trn_seeded', 1))).toBe('not_found');
    expect(await codeOf(save('nowhere', 'trn_1', 1))).toBe('not_found');
    const wrong = {
      ...describeEvaluation('a', 'trn_1', 1),
      score: { total: 1, spread: null, dimensions: { charm: 1 } },
    };
    expect(await codeOf(platform.evaluations.save.mutate(wrong as never))).toBe('validation_error');
  });

  test('tells person and score only where the team wants it at that moment', async () => {
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
  test('set back to open, stays open at a later save, and is done with the next training', async () => {
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

  test('that is linked after the score is done by the link', async () => {
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

test('thirty saves at once, of one person and of several, count each training once', async () => {
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
    `select min(total) as lowest, count(*)::int as n from evaluation where team_id = 'team_race' and training_id like 'trn_m%'`,
  );
  expect(rows).toEqual([{ lowest: 50, n: 15 }]);
  await expectTrueRollups('team_race');
});

type Step =
  | { kind: 'start' | 'end' | 'abort' }
  | { kind: 'save'; total: number | null; version: number };
type Call = Step & { training: number };

let run = 0;

describe('any calls in any order from two workers at once, repeated at will', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constantFrom('start' as const, 'end' as const, 'abort' as const) }),
    fc.record({
      kind: fc.constant('save' as const),
      total: fc.option(fc.integer({ min: 0, max: 100 })),
      version: fc.integer({ min: 0, max: 3 }),
    }),
  );
  const call = fc
    .tuple(step, fc.integer({ min: 0, max: 2 }))
    .map(([each, training]): Call => ({ ...each, training }));
  const worker = fc.array(call, { minLength: 1, maxLength: 10 });

  test('come to the same end as in order, with each event once and true figures', async () => {
    const other = await platformOf(api, 'another');
    await fc.assert(
      fc.asyncProperty(worker, worker, async (first, second) => {
        run += 1;
        const prefix = `trn_p${run}_`;
        const calls = oneTotalPerVersion([...first, ...second]);
        const [a, b] = [calls.slice(0, first.length), calls.slice(first.length)];
        const [codes, more] = await Promise.all([
          perform(platform, prefix, a),
          perform(other, prefix, b),
        ]);
        expect([...codes, ...more].filter((code) => code !== 'ok' && code !== 'not_found')).toEqual(
          [],
        );
        // What came before its training was known is repeated, as a service does; so is everything else.
        await perform(platform, prefix, calls.toReversed());
        await perform(other, prefix, calls);
        for (const index of [0, 1, 2]) {
          await expectEnd(
            `${prefix}${index}`,
            calls.filter((each) => each.training === index),
          );
        }
        await expectTrueRollups('team_random');
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  /** A worker saves a version of an evaluation with its own values; two saves of one version are one save repeated. */
  function oneTotalPerVersion(calls: Call[]): Call[] {
    const totals = new Map<string, number | null>();
    return calls.map((each) => {
      if (each.kind !== 'save') return each;
      const key = `${each.training} ${each.version}`;
      if (!totals.has(key)) totals.set(key, each.total);
      return { ...each, total: totals.get(key) ?? null };
    });
  }

  async function perform(by: Platform, prefix: string, calls: Call[]): Promise<string[]> {
    const codes: string[] = [];
    for (const each of calls) {
      const id = `${prefix}${each.training}`;
      const description = describeTraining('random', id, {
        // Two share a person and a week; the third is another's.
        user_id: userId('random', each.training === 2 ? 'admin' : 'member'),
        ...(each.training === 0 && { assignment_id: 'asg_random' }),
      });
      if (each.kind === 'start') codes.push(await codeOf(by.trainings.start.mutate(description)));
      if (each.kind === 'abort') codes.push(await codeOf(by.trainings.abort.mutate(description)));
      if (each.kind === 'end')
        codes.push(
          await codeOf(
            by.trainings.end.mutate({ ...description, finished_at: '2026-11-17T09:30:00Z' }),
          ),
        );
      if (each.kind === 'save') {
        const savedAt = `2026-11-17T10:00:0${each.version}.000Z`;
        codes.push(
          await codeOf(
            by.evaluations.save.mutate(describeEvaluation('random', id, each.total, savedAt)),
          ),
        );
      }
    }
    return codes;
  }

  async function expectEnd(id: string, calls: Call[]): Promise<void> {
    const has = (kind: Step['kind']) => calls.some((each) => each.kind === kind);
    const isKnown = has('start') || has('end') || has('abort');
    const { rows } = await api.db.pool.query(
      `select t.status, t.finished_at is not null as ended, e.total, e.saved_at from training t
       left join evaluation e on e.team_id = t.team_id and e.training_id = t.id where t.team_id = 'team_random' and t.id = $1`,
      [id],
    );
    const saves = (isKnown ? calls : []).flatMap((each) => (each.kind === 'save' ? [each] : []));
    const last = saves.toSorted((a, b) => b.version - a.version)[0];
    const unscored = has('end') ? 'completed' : has('abort') ? 'aborted' : 'started';
    const stored = {
      status: last ? 'scored' : unscored,
      ended: has('end'),
      total: last?.total ?? null,
      saved_at: last ? `2026-11-17T10:00:0${last.version}.000Z` : null,
    };
    expect(rows).toEqual(isKnown ? [stored] : []);
    const expected = [
      ...(last ? ['evaluation.completed'] : []),
      ...(has('end') ? ['training.completed'] : []),
    ];
    expect((await eventsOf(api, 'team_random', id)).map(({ type }) => type).toSorted()).toEqual(
      expected,
    );
  }
});
