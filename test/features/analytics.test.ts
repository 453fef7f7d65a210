import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Db, Statement } from '../../src/db/client.ts';
import { periodOf } from '../../src/features/analytics/rules.ts';
import { readTeam } from '../../src/features/analytics/store.ts';
import { createRandom, nextInt } from '../../src/seed/random.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import {
  makeMember,
  makeSeed,
  makeTeam,
  makeTraining,
  userId,
  type TeamSeed,
} from '../support/seed.ts';

/** A Wednesday: the current ISO week began on 2026-11-16. */
const NOW = new Date('2026-11-18T15:30:00.000Z');
const DAY_MS = 86_400_000;
const DIMENSIONS = [
  'closing',
  'conversation_control',
  'needs_analysis',
  'objection_handling',
  'value_argument',
] as const;

type Training = ReturnType<typeof makeTraining>;

interface Analytics {
  totals: { active_members: number; scored: number; sessions: number; avg_score: number | null };
  dimensions: { dimension: string; value: number | null }[];
  skill_gaps: string[];
  trend: { score: number | null }[];
  members: { sessions: number; avg_score: number | null; trend_delta: number | null }[];
}

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([]), clock: fixedClock(NOW) });
});

/** Loads the team, for what follows or for this question only. */
async function load(team: TeamSeed): Promise<() => Promise<Analytics>> {
  const seeded = await loadTestSeed({ url: api.databaseUrl }, makeSeed([team]));
  const key = seeded.teams[team.id ?? '']?.api_keys['analytics:read'] ?? null;
  return async () => {
    const { status, body } = await api.call(key, 'GET', '/analytics/team');
    expect(status).toBe(200);
    return body as Analytics;
  };
}

async function analyticsOf(team: TeamSeed): Promise<Analytics> {
  const read = await load(team);
  return read();
}

let trainingCount = 0;

/** An ended training of the person; `total` null: not scored. */
function session(
  user: string,
  at: string,
  total: number | null,
  fields: Partial<Training> = {},
): Training {
  const evaluation = total === null ? null : { score: { total, dimensions: {} } };
  return makeTraining('x', `trn_${trainingCount++}`, {
    user_id: user,
    status: total === null ? 'completed' : 'scored',
    created_at: at,
    finished_at: at,
    evaluation,
    ...fields,
  });
}

/** A team whose owner, admin and member, and further members `m0` …, have one scored session each. */
function teamOf(name: string, involved: number, fields: Partial<TeamSeed> = {}): TeamSeed {
  const more = Array.from({ length: involved - 3 }, (_, index) => `m${index}`);
  return makeTeam(name, {
    ...fields,
    members: [...more.map((member) => makeMember(name, member)), ...(fields.members ?? [])],
    trainings: [
      ...['owner', 'admin', 'member', ...more].map((member) =>
        session(userId(name, member), '2026-11-17T09:00:00Z', 70),
      ),
      ...(fields.trainings ?? []),
    ],
  });
}

describe('GET /analytics/team, over generated trainings', () => {
  const active = ['owner', 'admin', 'member', 'm0', 'm1', 'm2', 'm3'];
  const trainings = generateTrainings([...active, 'gone']);
  let answer: Analytics;
  beforeAll(async () => {
    const members = [0, 1, 2, 3].map((index) => makeMember('g', `m${index}`));
    const others = [
      makeMember('g', 'gone', { status: 'ended' }),
      makeMember('g', 'asked', { status: 'invited' }),
    ];
    answer = await analyticsOf(makeTeam('g', { members: [...members, ...others], trainings }));
  });

  const counted = trainings.filter((training) => training.user_id !== userId('g', 'gone'));
  const totalsOf = (list: readonly Training[]): number[] =>
    list.flatMap((training) => training.evaluation?.score?.total ?? []);
  const isEnded = (training: Training): boolean =>
    training.finished_at !== null || training.status === 'scored';

  test('the totals are those of a recount over the active members', () => {
    expect(answer.totals).toMatchObject({
      active_members: active.length,
      sessions: counted.filter(isEnded).length,
      scored: counted.filter((training) => training.evaluation).length,
    });
    expectRounded(answer.totals.avg_score, mean(totalsOf(counted)), 1);
  });

  test('each dimension is the mean of a recount, in alphabetical order; the gaps are those below 60, the lowest first', () => {
    const recount = DIMENSIONS.map((name) => ({
      name,
      mean:
        mean(counted.flatMap((training) => training.evaluation?.score?.dimensions?.[name] ?? [])) ??
        NaN,
    }));
    expect(answer.dimensions.map(({ dimension }) => dimension)).toEqual(DIMENSIONS);
    answer.dimensions.forEach(({ value }, index) =>
      expectRounded(value, recount[index]?.mean ?? null, 1),
    );
    const gaps = recount.filter((each) => each.mean < 60).toSorted((a, b) => a.mean - b.mean);
    expect(gaps.length).toBeGreaterThan(1);
    expect(answer.skill_gaps).toEqual(gaps.map(({ name }) => name));
  });

  test('the trend is the recount of the last 12 ISO weeks, with null for the empty ones', () => {
    const firstMonday = Date.parse('2026-08-31T00:00:00Z');
    const weeks = Array.from({ length: 12 }, (_, index) =>
      between(counted, firstMonday + index * 7 * DAY_MS, firstMonday + (index + 1) * 7 * DAY_MS),
    );
    expect(answer.trend).toHaveLength(12);
    answer.trend.forEach(({ score }, index) =>
      expectRounded(score, mean(totalsOf(weeks[index] ?? [])), 0),
    );
    expect(answer.trend.some(({ score }) => score === null)).toBe(true);
  });

  test('the board has a row for each member with a session, as in a recount, best first', () => {
    const tomorrow = Date.parse('2026-11-19T00:00:00Z');
    const rows = active.flatMap((name) => {
      const own = counted.filter((training) => training.user_id === userId('g', name));
      const recent = mean(totalsOf(between(own, tomorrow - 30 * DAY_MS, tomorrow)));
      const previous = mean(totalsOf(between(own, tomorrow - 60 * DAY_MS, tomorrow - 30 * DAY_MS)));
      const sessions = own.filter(isEnded).length;
      if (sessions === 0) return [];
      return [
        {
          sessions,
          mean: mean(totalsOf(own)),
          delta: recent === null || previous === null ? null : recent - previous,
        },
      ];
    });
    rows.sort((a, b) => (b.mean ?? -1) - (a.mean ?? -1));
    expect(answer.members).toHaveLength(rows.length);
    answer.members.forEach((member, index) => {
      const row = rows[index];
      expect(Object.keys(member).toSorted()).toEqual(['avg_score', 'sessions', 'trend_delta']);
      expect(member.sessions).toBe(row?.sessions);
      expectRounded(member.avg_score, row?.mean ?? null, 1);
      expectRounded(member.trend_delta, row?.delta ?? null, 1);
    });
    expect(answer.members.filter((member) => member.trend_delta !== null).length).toBeGreaterThan(
      2,
    );
  });
});

describe('GET /analytics/team', () => {
  test('of a team without trainings has zeros, no mean, and twelve empty weeks', async () => {
    expect(await analyticsOf(makeTeam('new'))).toEqual({
      totals: { active_members: 3, scored: 0, sessions: 0, avg_score: null },
      dimensions: [],
      skill_gaps: [],
      trend: Array.from({ length: 12 }, () => ({ score: null })),
      members: [],
    });
  });

  test('counts nothing of another team', async () => {
    await load(teamOf('other', 6));
    expect((await analyticsOf(makeTeam('beside'))).totals.sessions).toBe(0);
  });

  test('forgets a member who leaves at once, and knows one who comes back', async () => {
    const read = await load(teamOf('leaving', 5));
    const setStatus = (status: string) =>
      api.db.pool.query(`update member set status = $1 where id = 'mem_leaving_m0'`, [status]);
    await setStatus('ended');
    expect((await read()).totals).toMatchObject({ active_members: 4, sessions: 4 });
    await setStatus('active');
    expect((await read()).totals).toMatchObject({ active_members: 5, sessions: 5 });
  });

  // Where most teams are small, a generic plan takes every team for one; a nested loop over a large one's weeks takes seconds.
  test('is read without a nested loop, even by a plan made for a small team', async () => {
    const sent: Statement<unknown>[] = [];
    const db: Pick<Db, 'query'> = { query: (what) => (sent.push(what), Promise.resolve([])) };
    await readTeam(db as Db, 'any', periodOf(NOW)).catch(() => undefined);
    const plan = async (text = ''): Promise<string> => {
      const { rows } = await api.db.pool.query<{ plan: unknown }>(
        `explain (generic_plan, format json) ${text}`,
      );
      return JSON.stringify(rows);
    };
    expect(sent).toHaveLength(1);
    expect(await plan(sent[0]?.text)).not.toContain('Nested Loop');
    const joined =
      'select * from member join analytics_person_week w using (team_id, user_id) where team_id = $1';
    expect(await plan(joined)).toContain('Nested Loop');
  });

  test('rounds halves away from zero', async () => {
    const [owner, admin] = [userId('halves', 'owner'), userId('halves', 'admin')];
    const at = '2026-11-17T09:00:00Z';
    const trainings = [
      session(owner, at, 61),
      session(owner, at, 62),
      session(admin, '2026-11-10T09:00:00Z', 60),
      session(admin, '2026-11-10T09:00:00Z', 58),
    ];
    const answer = await analyticsOf(makeTeam('halves', { trainings }));
    // 60.25 and 61.5.
    expect(answer.totals.avg_score).toBe(60.3);
    expect(answer.trend.at(-1)).toEqual({ score: 62 });
  });

  test('calls a dimension a gap by its exact mean, not by the rounded one', async () => {
    const scores = Array.from({ length: 25 }, (_, index) => (index === 0 ? 59 : 60));
    const trainings = scores.map((closing) =>
      session(userId('gap', 'owner'), '2026-11-17T09:00:00Z', 60, {
        evaluation: { score: { total: 60, dimensions: { closing, needs_analysis: 60 } } },
      }),
    );
    const answer = await analyticsOf(makeTeam('gap', { trainings }));
    expect(answer.dimensions).toEqual([
      { dimension: 'closing', value: 60 },
      { dimension: 'needs_analysis', value: 60 },
    ]);
    expect(answer.skill_gaps).toEqual(['closing']);
  });

  test('the windows of the delta are UTC calendar days: today and the 29 before, and the 30 before those', async () => {
    const owner = userId('windows', 'owner');
    const trainings = [
      session(owner, '2026-11-18T23:59:59.999Z', 90),
      session(owner, '2026-10-20T00:00:00.000Z', 80),
      session(owner, '2026-10-19T23:59:59.999Z', 50),
      session(owner, '2026-09-20T00:00:00.000Z', 40),
      session(owner, '2026-09-19T23:59:59.999Z', 0),
      session(owner, '2026-11-19T00:00:00.000Z', 0),
    ];
    const answer = await analyticsOf(teamOf('windows', 5, { trainings }));
    // The owner's session of teamOf, 70 on 17 November, counts too: 80 on the average, 45 before.
    expect(answer.members.find((member) => member.sessions === 7)?.trend_delta).toBe(35);
  });

  test('the trend ends with the current ISO week, which begins on Monday, and ignores what is older than twelve', async () => {
    const owner = userId('weeks', 'owner');
    const trainings = [
      session(owner, '2026-11-16T00:00:00.000Z', 90),
      session(owner, '2026-11-15T23:59:59.999Z', 70),
      session(owner, '2026-08-31T00:00:00.000Z', 30),
      session(owner, '2026-08-30T23:59:59.999Z', 10),
    ];
    const { trend } = await analyticsOf(makeTeam('weeks', { trainings }));
    expect(trend.map(({ score }) => score)).toEqual([
      30,
      ...Array.from({ length: 9 }, () => null),
      70,
      90,
    ]);
  });
});

describe('the members in the analytics', () => {
  test('are shown from five members with an ended session on, and not with four', async () => {
    const running = session(userId('four', 'extra'), '2026-11-17T09:00:00Z', null, {
      status: 'running',
      finished_at: null,
    });
    const four = await analyticsOf(
      teamOf('four', 4, { members: [makeMember('four', 'extra')], trainings: [running] }),
    );
    expect((await analyticsOf(teamOf('five', 5))).members).toHaveLength(5);
    expect(four.members).toEqual([]);
    expect(four.totals).toMatchObject({ active_members: 5, sessions: 4 });
  });

  test('are hidden again when the fifth leaves', async () => {
    const read = await load(teamOf('fewer', 5));
    await api.db.pool.query(`update member set status = 'ended' where id = 'mem_fewer_m1'`);
    expect((await read()).members).toEqual([]);
  });

  test.each([
    { name: 'details', privacy: { member_detail_enabled: false } },
    { name: 'board', privacy: { leaderboard_enabled: false } },
    { name: 'both', privacy: { member_detail_enabled: false, leaderboard_enabled: false } },
  ])('are hidden with $privacy, and the rest is not', async ({ name, privacy }) => {
    const answer = await analyticsOf(teamOf(`off_${name}`, 6, { privacy }));
    expect(answer.members).toEqual([]);
    expect(answer.totals).toMatchObject({ active_members: 6, sessions: 6, avg_score: 70 });
  });

  test('come by mean, then sessions, and those without a score last', async () => {
    const at = '2026-11-17T09:00:00Z';
    const trainings = [
      session(userId('board', 'owner'), at, 70),
      session(userId('board', 'admin'), at, 90),
      session(userId('board', 'x'), at, null),
      session(userId('board', 'x'), at, null),
      session(userId('board', 'x'), at, null),
      session(userId('board', 'y'), at, null),
    ];
    const members = [makeMember('board', 'x'), makeMember('board', 'y')];
    const answer = await analyticsOf(teamOf('board', 4, { members, trainings }));
    expect(answer.members.map(({ sessions, avg_score }) => [sessions, avg_score])).toEqual([
      [2, 80],
      [2, 70],
      [1, 70],
      [1, 70],
      [3, null],
      [1, null],
    ]);
  });
});

/** 400 trainings of the 16 weeks before now, none in one of the weeks; some running, some ended and not scored, some evaluated without a total. */
function generateTrainings(names: readonly string[]): Training[] {
  const emptyFrom = Date.parse('2026-10-05T00:00:00Z');
  return Array.from({ length: 400 }, (_, index) => {
    const random = createRandom(7, 1, index);
    const name = names[nextInt(random, 0, names.length - 1)] ?? '';
    let at = NOW.getTime() - Math.floor(random() * 112 * DAY_MS);
    if (at >= emptyFrom && at < emptyFrom + 7 * DAY_MS) at += 7 * DAY_MS;
    const kind = random();
    const dimensions = Object.fromEntries(
      DIMENSIONS.filter(() => random() < 0.9).map((each, place) => [
        each,
        nextInt(random, 30, 84 + place),
      ]),
    );
    const createdAt = new Date(at).toISOString();
    if (kind < 0.1)
      return session(userId('g', name), createdAt, null, { status: 'running', finished_at: null });
    if (kind < 0.2) return session(userId('g', name), createdAt, null);
    const total = kind < 0.3 ? null : nextInt(random, 20, 100);
    return session(userId('g', name), createdAt, total, {
      status: 'scored',
      evaluation: { score: { total, dimensions } },
    });
  });
}

function between(trainings: readonly Training[], fromMs: number, toMs: number): Training[] {
  return trainings.filter(
    ({ created_at = '' }) => Date.parse(created_at) >= fromMs && Date.parse(created_at) < toMs,
  );
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** That `actual` is `exact` to that many decimals, whichever way a half went. */
function expectRounded(actual: number | null, exact: number | null, decimals: number): void {
  const scale = 10 ** decimals;
  expect(actual === null).toBe(exact === null);
  expect(Math.abs((actual ?? 0) - (exact ?? 0))).toBeLessThanOrEqual(0.5 / scale + 1e-9);
  expect(Math.round((actual ?? 0) * scale) / scale).toBe(actual ?? 0);
}
