// Compares the analytics of generated trainings with a naive recount.
import { beforeAll, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { DIMENSIONS } from '../../src/core/dimensions.ts';
import { createRandom, nextInt } from '../../src/seed/random.ts';
import { loadTeam, makeSession, type Analytics, type Training } from '../support/analytics.ts';
import { startTestApi } from '../support/api.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

/** A Wednesday: the current ISO week began on 2026-11-16. */
const NOW = new Date('2026-11-18T15:30:00.000Z');
const DAY_MS = 86_400_000;

const active = ['owner', 'admin', 'member', 'm0', 'm1', 'm2', 'm3'];
const trainings = generateTrainings([...active, 'gone']);
let answer: Analytics;
beforeAll(async () => {
  const members = [0, 1, 2, 3].map((index) => makeMember('g', `m${index}`));
  const others = [
    makeMember('g', 'gone', { status: 'ended' }),
    makeMember('g', 'asked', { status: 'invited' }),
  ];
  const team = makeTeam('g', { members: [...members, ...others], trainings });
  const api = await startTestApi({ seed: makeSeed([]), clock: fixedClock(NOW) });
  answer = await (await loadTeam(api, team))();
});

const counted = trainings.filter((training) => training.user_id !== userId('g', 'gone'));
const totalsOf = (list: readonly Training[]): number[] =>
  list.flatMap((training) => training.evaluation?.score?.total ?? []);
const isEnded = (training: Training): boolean =>
  training.finished_at !== null || training.status === 'scored';

test('the totals count the active members', () => {
  expect(answer.totals).toMatchObject({
    active_members: active.length,
    sessions: counted.filter(isEnded).length,
    scored: counted.filter((training) => training.evaluation).length,
  });
  expectRounded(answer.totals.avg_score, mean(totalsOf(counted)), 1);
});

test('dimensions are means in alphabetical order; gaps are those below 60, lowest first', () => {
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

test('the trend has the means of the last 12 ISO weeks, and null for empty ones', () => {
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

test('the board has a row for each member with a session, best first', () => {
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
  expect(answer.members.filter((member) => member.trend_delta !== null).length).toBeGreaterThan(2);
});

/**
 * Makes 400 trainings of the 16 weeks before now, with none in one of the weeks. Some are running,
 * some ended without a score, and some have an evaluation without a total.
 */
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
      return makeSession(userId('g', name), createdAt, null, {
        status: 'running',
        finished_at: null,
      });
    if (kind < 0.2) return makeSession(userId('g', name), createdAt, null);
    const total = kind < 0.3 ? null : nextInt(random, 20, 100);
    return makeSession(userId('g', name), createdAt, total, {
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

/** Expects `actual` to be `exact` with that many decimals; a half may be rounded either way. */
function expectRounded(actual: number | null, exact: number | null, decimals: number): void {
  const scale = 10 ** decimals;
  expect(actual === null).toBe(exact === null);
  expect(Math.abs((actual ?? 0) - (exact ?? 0))).toBeLessThanOrEqual(0.5 / scale + 1e-9);
  expect(Math.round((actual ?? 0) * scale) / scale).toBe(actual ?? 0);
}
