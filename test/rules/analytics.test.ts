import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DIMENSIONS } from '../../src/core/dimensions.ts';
import {
  changeOf,
  isNothing,
  weekOf,
  type Contribution,
} from '../../src/features/analytics/platform-rules.ts';
import {
  countLater,
  drawBoard,
  NEWEST,
  periodOf,
  summarize,
  withoutNewest,
  type BoardEntry,
  type Evaluated,
  type PersonFigures,
  type Scores,
  WINDOW_DAYS,
} from '../../src/features/analytics/rules.ts';

const NONE: Scores = { sum: 0, count: 0 };
const scores = (sum: number, count: number): Scores => ({ sum, count });
const person = (fields: Partial<PersonFigures> = {}): PersonFigures => ({
  sessions: 1,
  scored: 0,
  all: NONE,
  recent: NONE,
  previous: NONE,
  ...fields,
});
const board = (people: readonly PersonFigures[]) => summaryOf({ people }).board;

function summaryOf({
  people = [],
  dimensions = {},
  weeks = {},
  listed = [],
}: {
  people?: readonly PersonFigures[];
  dimensions?: Readonly<Record<string, Scores>>;
  weeks?: Readonly<Record<string, Scores>>;
  listed?: readonly string[];
}) {
  const figures = {
    activeMembers: 7,
    people,
    dimensions: new Map(Object.entries(dimensions)),
    weeks: new Map(Object.entries(weeks)),
  };
  return summarize(figures, listed);
}

test('each window of trend_delta has 30 days', () => {
  expect(WINDOW_DAYS).toBe(30);
});

describe('the period', () => {
  test.each([
    ['2026-11-02T00:00:00.000Z', '2026-11-02', '2026-11-02'],
    ['2026-11-04T12:00:00.000Z', '2026-11-04', '2026-11-02'],
    ['2026-11-08T23:59:59.999Z', '2026-11-08', '2026-11-02'],
    ['2026-11-09T00:00:00.000Z', '2026-11-09', '2026-11-09'],
    ['2027-01-01T08:00:00.000Z', '2027-01-01', '2026-12-28'],
  ])('at %s is today %s, and its last week begins on %s', (now, today, monday) => {
    const period = periodOf(new Date(now));
    expect(period.today).toBe(today);
    expect(period.weeks.at(-1)).toBe(monday);
  });

  test('has twelve Mondays, one week apart, oldest first', () => {
    expect(periodOf(new Date('2026-11-04T12:00:00Z')).weeks).toEqual([
      '2026-08-17',
      '2026-08-24',
      '2026-08-31',
      '2026-09-07',
      '2026-09-14',
      '2026-09-21',
      '2026-09-28',
      '2026-10-05',
      '2026-10-12',
      '2026-10-19',
      '2026-10-26',
      '2026-11-02',
    ]);
  });
});

describe('a mean', () => {
  test.each([
    [0, 0, null],
    [0, 3, 0],
    [1267, 20, 63.4],
    [126_699, 2000, 63.3],
    [200, 3, 66.7],
    [100, 3, 33.3],
    [100, 1, 100],
  ])('of the sum %d of %d scores is %s', (sum, count, mean) => {
    const { totals } = summaryOf({ people: [person({ all: { sum, count } })] });
    expect(totals.avg_score).toBe(mean);
  });

  test.each([
    [125, 2, 63],
    [6249, 100, 62],
    [0, 0, null],
  ])('of a week with the sum %d of %d scores is %s', (sum, count, mean) => {
    const summary = summaryOf({ weeks: { '2026-11-02': { sum, count } }, listed: ['2026-11-02'] });
    expect(summary.trend).toEqual([{ score: mean }]);
  });

  test('is none for a week without scores, in the order of the weeks', () => {
    const weeks = { '2026-11-02': scores(90, 1), '2026-10-19': scores(70, 1) };
    const listed = ['2026-10-19', '2026-10-26', '2026-11-02'];
    expect(summaryOf({ weeks, listed }).trend.map(({ score }) => score)).toEqual([70, null, 90]);
  });
});

test('the totals count all people, those without an ended session too', () => {
  const people = [
    person({ sessions: 3, scored: 2, all: scores(150, 2) }),
    person({ sessions: 0, scored: 1, all: scores(40, 1) }),
  ];
  const summary = summaryOf({ people });
  expect(summary.totals).toEqual({ active_members: 7, scored: 3, sessions: 3, avg_score: 63.3 });
  expect(summary.board).toHaveLength(1);
});

describe('the dimensions', () => {
  test('are sorted by name, with their means', () => {
    const dimensions = {
      value_argument: scores(1, 3),
      closing: scores(200, 3),
      needs_analysis: scores(80, 1),
    };
    expect(summaryOf({ dimensions }).dimensions).toEqual([
      { dimension: 'closing', value: 66.7 },
      { dimension: 'needs_analysis', value: 80 },
      { dimension: 'value_argument', value: 0.3 },
    ]);
  });

  test('are skill gaps below an exact mean of 60, the lowest first, equal ones by name', () => {
    const dimensions = {
      value_argument: scores(100, 2),
      closing: scores(5996, 100),
      objection_handling: scores(60, 1),
      needs_analysis: scores(50, 1),
      conversation_control: scores(120, 3),
    };
    const summary = summaryOf({ dimensions });
    expect(summary.skill_gaps).toEqual([
      'conversation_control',
      'needs_analysis',
      'value_argument',
      'closing',
    ]);
    expect(summary.dimensions[0]).toEqual({ dimension: 'closing', value: 60 });
  });
});

describe('the trend of a member', () => {
  test.each([
    [scores(5995, 100), scores(6004, 100), 0.1],
    [scores(6004, 100), scores(5995, 100), -0.1],
    [scores(100, 3), scores(200, 3), 33.3],
    [scores(50, 1), scores(1001, 20), 0.1],
    [scores(50, 1), scores(999, 20), -0.1],
    [scores(50, 1), scores(5004, 100), 0],
    [scores(50, 1), scores(50, 1), 0],
    [NONE, scores(50, 1), null],
    [scores(50, 1), NONE, null],
  ])('from %o to %o is %s', (previous, recent, delta) => {
    expect(board([person({ previous, recent })])[0]?.trend_delta).toBe(delta);
  });
});

describe('the board', () => {
  test('has the members with an ended session only', () => {
    expect(board([person({ sessions: 0 }), person({ sessions: 1 })])).toEqual([
      { sessions: 1, avg_score: null, trend_delta: null },
    ]);
  });

  // Each is better than the next one, by one criterion.
  const RANKED = [
    person({ all: scores(269, 3) }),
    person({ sessions: 5, all: scores(80, 1) }),
    person({ sessions: 4, all: scores(80, 1), recent: scores(70, 1), previous: scores(60, 1) }),
    person({ sessions: 4, all: scores(80, 1), recent: scores(60, 1), previous: scores(60, 1) }),
    person({ sessions: 4, all: scores(80, 1), recent: scores(50, 1), previous: scores(60, 1) }),
    person({ sessions: 4, all: scores(80, 1) }),
    person({ sessions: 1, all: scores(0, 1) }),
    person({ sessions: 9 }),
    person({ sessions: 8 }),
  ];

  test.each([
    ['the best first', RANKED],
    ['the worst first', RANKED.toReversed()],
  ])(
    'ranks by mean, sessions, then delta, whatever is unknown last: given %s',
    (_given, people) => {
      const shown = board(people).map((entry) => [
        entry.avg_score,
        entry.sessions,
        entry.trend_delta,
      ]);
      expect(shown).toEqual([
        [89.7, 1, null],
        [80, 5, null],
        [80, 4, 10],
        [80, 4, 0],
        [80, 4, -10],
        [80, 4, null],
        [0, 1, null],
        [null, 9, null],
        [null, 8, null],
      ]);
    },
  );
});

describe('the change of the rollups', () => {
  const NO_SCORE: Contribution = { isEnded: false, score: null };
  const scored = (
    total: number | null,
    dimensions: Readonly<Record<string, number>> = {},
  ): Contribution => ({ isEnded: false, score: { total, dimensions } });
  const pairs = (changed: Readonly<Record<string, Scores>>) =>
    DIMENSIONS.map((name) => changed[name] ?? NONE);

  test.each<[string, Contribution, Contribution, ReturnType<typeof changeOf>]>([
    ['nothing', NO_SCORE, NO_SCORE, null],
    ['the same score again', scored(70, { closing: 50 }), scored(70, { closing: 50 }), null],
    ['an unknown dimension', scored(70), scored(70, { charm: 50 }), null],
    [
      'an end',
      NO_SCORE,
      { isEnded: true, score: null },
      { sessions: 1, scored: 0, total: NONE, dimensions: pairs({}) },
    ],
    [
      'a first score',
      NO_SCORE,
      { isEnded: true, score: { total: 70, dimensions: { closing: 50, value_argument: 0 } } },
      {
        sessions: 1,
        scored: 1,
        total: scores(70, 1),
        dimensions: pairs({ closing: scores(50, 1), value_argument: scores(0, 1) }),
      },
    ],
    [
      'a first evaluation without scores',
      NO_SCORE,
      scored(null),
      { sessions: 0, scored: 1, total: NONE, dimensions: pairs({}) },
    ],
    [
      'another total',
      scored(70),
      scored(50),
      { sessions: 0, scored: 0, total: scores(-20, 0), dimensions: pairs({}) },
    ],
    [
      'a total of 0 where there was none',
      scored(null),
      scored(0),
      { sessions: 0, scored: 0, total: scores(0, 1), dimensions: pairs({}) },
    ],
    [
      'another dimension',
      scored(70, { closing: 50 }),
      scored(70, { needs_analysis: 50 }),
      {
        sessions: 0,
        scored: 0,
        total: NONE,
        dimensions: pairs({ closing: scores(-50, -1), needs_analysis: scores(50, 1) }),
      },
    ],
    [
      'a removed score',
      { isEnded: true, score: { total: 70, dimensions: {} } },
      NO_SCORE,
      { sessions: -1, scored: -1, total: scores(-70, -1), dimensions: pairs({}) },
    ],
  ])('for %s', (_what, before, after, change) => {
    expect(changeOf(before, after)).toEqual(change);
  });

  test.each([
    [scores(0, 0), true],
    [scores(1, 0), false],
    [scores(-1, 0), false],
    [scores(0, 1), false],
    [scores(0, -1), false],
  ])('of %o is nothing: %s', (pair, expected) => {
    expect(isNothing(pair)).toBe(expected);
  });
});

test.each([
  ['2026-11-02T00:00:00.000Z', '2026-11-02', 1],
  ['2026-11-03T12:00:00.000Z', '2026-11-02', 2],
  ['2026-11-07T23:59:59.999Z', '2026-11-02', 6],
  ['2026-11-08T00:00:00.000Z', '2026-11-02', 7],
  ['2026-11-08T23:59:59.999Z', '2026-11-02', 7],
  ['2026-11-02T00:30:00.000+02:00', '2026-10-26', 7],
  ['2027-01-01T00:00:00.000Z', '2026-12-28', 5],
])('the day of %s is in the week of %s, as day %d', (at, monday, day) => {
  expect(weekOf(at)).toEqual({ monday, day });
});

describe('what is drawn of the board', () => {
  const boardOf = (length: number, withScore = length): BoardEntry[] =>
    Array.from({ length }, (_, index) => ({
      sessions: 1,
      avg_score: index < withScore ? 100 - (index % 101) : null,
      trend_delta: null,
    }));
  const places = (entries: readonly { readonly place: number }[]) =>
    entries.map(({ place }) => place);

  test('is all of it while it fits, those without a score included', () => {
    const { best, last } = drawBoard(boardOf(20, 12));
    expect(places(best)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(last).toEqual([]);
  });

  test('is the best and the last ten who have a score, none of them twice', () => {
    const { best, last } = drawBoard(boardOf(30, 25));
    expect(places(best)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(places(last)).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);
    expect(places(drawBoard(boardOf(30, 13)).last)).toEqual([11, 12, 13]);
    expect(drawBoard(boardOf(30, 4)).last).toEqual([]);
  });

  test('counts each score once, the best possible one in the last step', () => {
    expect(drawBoard(boardOf(101)).spread).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 11]);
    expect(drawBoard(boardOf(3, 0)).spread).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test('is as large for ten thousand members as for a hundred', () => {
    const sizeOf = (length: number) => JSON.stringify(drawBoard(boardOf(length))).length;
    expect(sizeOf(10_000)).toBeLessThan(sizeOf(100) + 200);
  });
});

describe('while details are off', () => {
  const total = fc.integer({ min: 0, max: 100 });
  const evaluated: fc.Arbitrary<Omit<Evaluated, 'inWeek'>> = fc.record({
    userId: fc.constantFrom('a', 'a', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    week: fc.constantFrom('2026-11-09', '2026-11-16', null),
    total: fc.option(total, { freq: 9 }),
    dimensions: fc.record({ closing: total, value_argument: total }, { requiredKeys: ['closing'] }),
  });
  const WEEKS = ['2026-11-09', '2026-11-16'];

  const sumOf = (values: readonly (number | null | undefined)[]): Scores => {
    const own = values.filter((value) => typeof value === 'number');
    return { sum: own.reduce((sum, value) => sum + value, 0), count: own.length };
  };
  /** What is shown after these evaluations, the oldest first. */
  const shownOf = (evaluations: readonly Omit<Evaluated, 'inWeek'>[]) => {
    const inWeek = (week: string | null) =>
      evaluations.filter((each) => each.week === week && each.total !== null);
    const figuresOf = (week: string) => ({
      ...sumOf(inWeek(week).map((each) => each.total)),
      people: new Set(inWeek(week).map(({ userId }) => userId)).size,
    });
    const names = ['closing', 'value_argument'];
    const figures = withoutNewest({
      activeMembers: 8,
      sessions: evaluations.length,
      scored: evaluations.length,
      all: sumOf(evaluations.map((each) => each.total)),
      dimensions: new Map(
        names.map((name) => [name, sumOf(evaluations.map((each) => each.dimensions[name]))]),
      ),
      weeks: new Map(WEEKS.map((week) => [week, figuresOf(week)])),
      newest: evaluations
        .slice(-NEWEST)
        .toReversed()
        .map((each) => ({
          ...each,
          inWeek: inWeek(each.week).filter(({ userId }) => userId === each.userId).length,
        })),
    });
    return summarize(figures, WEEKS, 0);
  };

  test('a score of which no mean can be part yet changes nothing', () => {
    fc.assert(
      fc.property(
        fc.array(evaluated, { minLength: 1, maxLength: 260 }),
        fc.record({ total, closing: total }),
        (evaluations, other) => {
          const last = evaluations.at(-1);
          if (!last) return;
          const changed = {
            ...last,
            total: last.total === null ? null : other.total,
            dimensions: { ...last.dimensions, closing: other.closing },
          };
          const worlds = [evaluations, [...evaluations.slice(0, -1), changed]] as const;
          const [one, two] = worlds.map(shownOf);
          const isPart = (
            value: (each: Omit<Evaluated, 'inWeek'>) => number | null | undefined,
          ): boolean => {
            const own = evaluations.filter((each) => typeof value(each) === 'number');
            const userIds = own.slice(-NEWEST).map(({ userId }) => userId);
            return countLater(userIds.toReversed(), own.length) === 0;
          };
          if (isPart((each) => each.total) || isPart(({ dimensions }) => dimensions['closing']))
            return;
          expect(two).toEqual(one);
        },
      ),
      { seed: 61, numRuns: 300 },
    );
  });

  // One may read at any time, and compare.
  test('between any two means that are shown there are six people, none with most of it', () => {
    fc.assert(
      fc.property(fc.array(evaluated, { maxLength: 450 }), (evaluations) => {
        const userIds = evaluations.map(({ userId }) => userId);
        const ends = userIds.map((_, index) => {
          const newest = userIds.slice(Math.max(0, index + 1 - NEWEST), index + 1).toReversed();
          const later = countLater(newest, index + 1);
          return later === null ? null : index + 1 - later;
        });
        const shown = [...new Set([0, ...ends.filter((end) => end !== null)])];
        expect(shown).toEqual(shown.toSorted((a, b) => a - b));
        for (const [index, end] of shown.slice(1).entries())
          expect(new Set(userIds.slice(shown[index], end)).size).toBeGreaterThanOrEqual(6);
      }),
      { seed: 61, numRuns: 200 },
    );
  });

  test('the last of two hundred scores may hold no group', () => {
    const alone = Array.from({ length: NEWEST }, () => 'a');
    expect(countLater(alone, 400)).toBeNull();
    expect(countLater(alone.slice(0, 3), 3)).toBeNull();
    const crowd = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(countLater(['a', ...crowd], 7)).toBe(1);
    // Of more than a hundred, fewer than these are known.
    expect(countLater(crowd, 150)).toBeNull();
  });
});
