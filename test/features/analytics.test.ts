import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { statement, type Db } from '../../src/db/client.ts';
import { periodOf } from '../../src/features/analytics/rules.ts';
import { readTeam } from '../../src/features/analytics/store.ts';
import { loadTeam, makeSession, type Analytics } from '../support/analytics.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { explain } from '../support/plans.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import {
  makeEvaluation,
  makeMember,
  makeSeed,
  makeTeam,
  userId,
  type TeamSeed,
} from '../support/seed.ts';

/** A Wednesday: the current ISO week began on 2026-11-16. */
const NOW = new Date('2026-11-18T15:30:00.000Z');

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([]), clock: fixedClock(NOW) });
});

const load = (team: TeamSeed) => loadTeam(api, team);
const analyticsOf = async (team: TeamSeed): Promise<Analytics> => (await load(team))();

/**
 * Makes a team in which `involved` members have one scored session each: owner, admin, member and
 * `m0` ….
 */
function teamOf(name: string, involved: number, fields: Partial<TeamSeed> = {}): TeamSeed {
  const more = Array.from({ length: involved - 3 }, (_, index) => `m${index}`);
  return makeTeam(name, {
    ...fields,
    members: [...more.map((member) => makeMember(name, member)), ...(fields.members ?? [])],
    trainings: [
      ...['owner', 'admin', 'member', ...more].map((member) =>
        makeSession(userId(name, member), '2026-11-17T09:00:00Z', 70),
      ),
      ...(fields.trainings ?? []),
    ],
  });
}

describe('GET /analytics/team', () => {
  test('has zeros, no mean and twelve empty weeks for a team without trainings', async () => {
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

  test('leaves out a member who leaves at once, and counts one who comes back', async () => {
    const read = await load(teamOf('leaving', 5));
    const setStatus = (status: string) =>
      api.db.pool.query(`update member set status = $1 where id = 'mem_leaving_m0'`, [status]);
    await setStatus('ended');
    expect((await read()).totals).toMatchObject({ active_members: 4, sessions: 4 });
    await setStatus('active');
    expect((await read()).totals).toMatchObject({ active_members: 5, sessions: 5 });
  });

  // Where most teams are small, a generic plan expects every team to be small. A nested loop over
  // the weeks of a large team would then take seconds.
  test('is read without a nested loop, even by a generic plan', async () => {
    const client = await openWhereTeamIs(api.databaseUrl, 'team_a');
    onTestFinished(() => client.end());
    const types = async (read: (db: Db) => Promise<unknown>): Promise<string[]> =>
      (await explain(client, read, 'generic')).map((node) => node['Node Type']);
    expect(await types((db) => readTeam(db, 'any', periodOf(NOW)))).not.toContain('Nested Loop');
    const joined = statement(
      'test.joined',
      `select *
       from member
       join analytics_person_week using (team_id, user_id)
       where team_id = $1`,
    );
    expect(await types((db) => db.query(joined, ['any']))).toContain('Nested Loop');
  });

  test('rounds halves away from zero', async () => {
    const [owner, admin] = [userId('halves', 'owner'), userId('halves', 'admin')];
    const at = '2026-11-17T09:00:00Z';
    const trainings = [
      makeSession(owner, at, 61),
      makeSession(owner, at, 62),
      makeSession(admin, '2026-11-10T09:00:00Z', 60),
      makeSession(admin, '2026-11-10T09:00:00Z', 58),
    ];
    const answer = await analyticsOf(makeTeam('halves', { trainings }));
    // 60.25 and 61.5.
    expect(answer.totals.avg_score).toBe(60.3);
    expect(answer.trend.at(-1)).toEqual({ score: 62 });
  });

  test('finds a gap by the exact mean of a dimension, not by the rounded one', async () => {
    const scores = Array.from({ length: 25 }, (_, index) => (index === 0 ? 59 : 60));
    const trainings = scores.map((closing) =>
      makeSession(userId('gap', 'owner'), '2026-11-17T09:00:00Z', 60, {
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

  test('compares the last 30 UTC days, today included, with the 30 before', async () => {
    const owner = userId('windows', 'owner');
    const trainings = [
      makeSession(owner, '2026-11-18T23:59:59.999Z', 90),
      makeSession(owner, '2026-10-20T00:00:00.000Z', 80),
      makeSession(owner, '2026-10-19T23:59:59.999Z', 50),
      makeSession(owner, '2026-09-20T00:00:00.000Z', 40),
      makeSession(owner, '2026-09-19T23:59:59.999Z', 0),
      makeSession(owner, '2026-11-19T00:00:00.000Z', 0),
    ];
    const answer = await analyticsOf(teamOf('windows', 5, { trainings }));
    // The owner's session of teamOf, 70 on 17 November, counts too: the means are 80 and 45.
    expect(answer.members.find((member) => member.sessions === 7)?.trend_delta).toBe(35);
  });

  test('has a trend of twelve ISO weeks, which begin on Monday, up to this week', async () => {
    const owner = userId('weeks', 'owner');
    const trainings = [
      makeSession(owner, '2026-11-16T00:00:00.000Z', 90),
      makeSession(owner, '2026-11-15T23:59:59.999Z', 70),
      makeSession(owner, '2026-08-31T00:00:00.000Z', 30),
      makeSession(owner, '2026-08-30T23:59:59.999Z', 10),
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
  test('are shown if five members have an ended session, not if four have', async () => {
    const running = makeSession(userId('four', 'extra'), '2026-11-17T09:00:00Z', null, {
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
  ])('are hidden with $privacy; the rest is shown', async ({ name, privacy }) => {
    const answer = await analyticsOf(teamOf(`off_${name}`, 6, { privacy }));
    expect(answer.members).toEqual([]);
    expect(answer.totals).toMatchObject({ active_members: 6, sessions: 6, avg_score: 70 });
  });

  test('are sorted by mean, then sessions; those without a score come last', async () => {
    const at = '2026-11-17T09:00:00Z';
    const trainings = [
      makeSession(userId('board', 'owner'), at, 70),
      makeSession(userId('board', 'admin'), at, 90),
      makeSession(userId('board', 'x'), at, null),
      makeSession(userId('board', 'x'), at, null),
      makeSession(userId('board', 'x'), at, null),
      makeSession(userId('board', 'y'), at, null),
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

describe('while member details are off', () => {
  const PEOPLE = ['owner', 'admin', 'member', 'm0', 'm1', 'm2', 'm3'];
  let teams = 0;

  /** A team whose people were scored in turn, each with all dimensions. `last`: the last score. */
  const scoredInTurn = (count: number, last = 50, from = PEOPLE) => {
    teams += 1;
    const name = `still${teams}`;
    const trainings = Array.from({ length: count }, (_, index) => {
      const score = index === count - 1 ? last : 20 + ((index * 37) % 60);
      const savedAt = new Date(NOW.getTime() - (count - index) * 60_000).toISOString();
      return makeSession(userId(name, from[index % from.length] ?? ''), savedAt, score, {
        evaluation: { ...makeEvaluation(score), saved_at: savedAt },
      });
    });
    const members = PEOPLE.slice(3).map((person) => makeMember(name, person));
    return makeTeam(name, { members, trainings, privacy: { member_detail_enabled: false } });
  };
  const meansOf = ({ totals, members: _none, ...means }: Analytics) => ({
    avg_score: totals.avg_score,
    ...means,
  });
  const shown = async (team: TeamSeed) => meansOf(await analyticsOf(team));

  test.each([5, 23, 29])('no score is told by %d trainings and one less or more', async (count) => {
    const low = await shown(scoredInTurn(count, 0));
    expect(await shown(scoredInTurn(count, 100))).toEqual(low);
    expect(await shown(scoredInTurn(count - (count % 6) + 1, 100))).toEqual(low);
  });

  test('the means of six people are told together, in whole numbers', async () => {
    const before = await shown(scoredInTurn(23));
    const after = await shown(scoredInTurn(24, 100));
    expect(after).not.toEqual(before);
    expect(after).not.toEqual(await shown(scoredInTurn(24, 0)));
    const { avg_score, dimensions, trend } = after;
    expect(dimensions).toHaveLength(5);
    for (const mean of [avg_score, trend.at(-1)?.score, ...dimensions.map(({ value }) => value)])
      expect(mean).toSatisfy(Number.isInteger);
  });

  test('no mean is one of fewer than six people, or above all of one person', async () => {
    const none = { avg_score: null, dimensions: [], skill_gaps: [] };
    expect(await shown(scoredInTurn(60, 50, PEOPLE.slice(0, 5)))).toMatchObject(none);
    const one = Array.from({ length: 12 }, () => 'm0');
    expect(await shown(scoredInTurn(17, 50, [...one, ...PEOPLE]))).toMatchObject(none);
  });

  test('a removal tells no mean of the person', async () => {
    const team = scoredInTurn(26);
    const read = await load(team);
    const before = await read();
    await api.db.pool.query(
      `update member set status = 'ended' where team_id = $1 and id like '%m0'`,
      [team.id],
    );
    expect(await read()).toEqual({
      ...before,
      totals: { ...before.totals, active_members: 6 },
    });
  });
});
