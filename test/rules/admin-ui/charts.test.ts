// What the charts draw and say: their height, their names, their steps, and the files.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { createFormat } from '../../../src/admin-ui/i18n/formats.ts';
import { USAGE_DAYS } from '../../../src/admin-ui/lib/search.ts';
import {
  changeText,
  figureText,
  stepLabels,
  weeksOf,
} from '../../../src/admin-ui/pages/results-figures.ts';
import {
  daysChosen,
  FULL,
  peakBars,
  peakOf,
  requestBars,
  STATUSES,
  TONES,
  usageRows,
  usedDays,
} from '../../../src/admin-ui/pages/usage-figures.ts';
import {
  barAfterKey,
  csvOf,
  firstBar,
  namedBars,
  shownBar,
  sumOf,
  topOf,
  type Bar,
} from '../../../src/admin-ui/ui/bars.ts';
import { amounts, badShares, outcomes } from '../../../src/admin-ui/ui/spark-values.ts';

const format = createFormat('en');
const bar = (...values: number[]): Bar => ({
  label: '',
  text: '',
  parts: values.map((value) => ({ tone: 'main', value })),
});

describe('the height of a chart', () => {
  test.each([
    [0, 2],
    [1, 2],
    [2, 2],
    [3, 4],
    [5, 6],
    [6, 6],
    [7, 8],
    [9, 10],
    [10, 10],
    [11, 20],
    [21, 30],
    [31, 40],
    [41, 50],
    [51, 60],
    [61, 80],
    [81, 100],
    [100, 100],
    [101, 200],
    [999, 1_000],
    [2.5, 4],
  ])('for a bar of %d is %d', (value, top) => {
    expect(topOf([bar(0), bar(value), bar(1)])).toBe(top);
  });

  test('is two if nothing is higher', () => {
    for (const values of [[], [0], [0.5], [1.9], [2]])
      expect(topOf(values.map((value) => bar(value)))).toBe(2);
  });

  test('is round, can be halved, and is no higher than needed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 10_000_000 }), (value) => {
        const top = topOf([bar(value)]);
        expect(top).toBeGreaterThanOrEqual(value);
        expect(top % 2).toBe(0);
        expect(top).toBeLessThanOrEqual(value * 2);
        expect(String(top)).toMatch(/^[1-8]0*$/);
      }),
    );
  });

  test('counts all parts of a bar', () => {
    expect(sumOf(bar())).toBe(0);
    expect(sumOf(bar(1, 20, 300))).toBe(321);
    expect(topOf([bar(30, 30)])).toBe(60);
  });
});

describe('the bar that is read', () => {
  const bars = [bar(0), bar(1), bar(0, 2), bar(0)];

  test('is at first the latest with a value, or the last', () => {
    expect(shownBar(bars, firstBar(bars))).toBe(2);
    expect(firstBar([bar(2), bar(1), bar(0)])).toBe(1);
    expect(firstBar([bar(2), bar(0, 0.1)])).toBe(1);
    const empty = [bar(0), bar(0)];
    expect(shownBar(empty, firstBar(empty))).toBe(1);
  });

  test('is the chosen one, or the last if there are fewer now', () => {
    expect(shownBar(bars, 0)).toBe(0);
    expect(shownBar(bars, 3)).toBe(3);
    expect(shownBar(bars, 4)).toBe(3);
  });

  test.each([
    ['ArrowLeft', 2, 1],
    ['ArrowLeft', 0, 0],
    ['ArrowRight', 0, 1],
    ['ArrowRight', 2, 3],
    ['ArrowRight', 3, 3],
    ['Home', 2, 0],
    ['End', 1, 3],
    ['Enter', 2, null],
    ['a', 2, null],
  ])('moves by %s from %i to %s', (key, shown, to) => {
    expect(barAfterKey(key, shown, 4)).toBe(to);
  });
});

test('each of twelve bars is named, of more the first and the last', () => {
  const of = (count: number) => Array.from({ length: count }, (_, n) => n);
  expect(namedBars(of(12))).toEqual({ hasAll: true, named: of(12) });
  expect(namedBars(of(13))).toEqual({ hasAll: false, named: [0, 12] });
  expect(namedBars([])).toEqual({ hasAll: true, named: [] });
});

test('a file for spreadsheets has quotes, commas and lines in their place', () => {
  expect(csvOf([])).toBe('');
  expect(
    csvOf([
      ['day', 'n'],
      ['say "a", b\n', 1.5],
    ]),
  ).toBe('"day","n"\r\n"say ""a"", b\n","1.5"');
});

describe('a small chart', () => {
  test('draws amounts in the height of the largest', () => {
    const none = [{ tone: 'none', share: 0 }];
    const main = (share: number) => [{ tone: 'main', share }];
    expect(amounts([0, 5, 10])).toEqual([none, main(0.5), main(1)]);
    expect(amounts([0, 0])).toEqual([none, none]);
    expect(amounts([0.5])).toEqual([main(0.5)]);
    expect(amounts([])).toEqual([]);
  });

  test('draws bad shares, and none too high', () => {
    expect(badShares([0, 0.5, 1.2])).toEqual([
      [{ tone: 'none', share: 0 }],
      [{ tone: 'bad', share: 0.5 }],
      [{ tone: 'bad', share: 1 }],
    ]);
  });

  test('draws one failure of ten as a tenth, and an outage in full height', () => {
    expect(
      outcomes([
        { arrived: 9, failed: 1 },
        { arrived: 0, failed: 3 },
        { arrived: 2, failed: 0 },
        { arrived: 0, failed: 0 },
      ]),
    ).toEqual([
      [
        { tone: 'main', share: 0.9 },
        { tone: 'bad', share: 0.1 },
      ],
      [{ tone: 'bad', share: 1 }],
      [{ tone: 'main', share: 1 }],
      [{ tone: 'none', share: 0 }],
    ]);
  });
});

describe('the results of the team', () => {
  test('are spread over steps of ten points, the best score in the last', () => {
    const steps = ['0–9', '10–19', '20–29', '30–39', '40–49', '50–59', '60–69', '70–79', '80–89'];
    expect(stepLabels(10)).toEqual([...steps, '90–100']);
    expect(stepLabels(1)).toEqual(['0–100']);
  });

  test.each([
    ['2026-01-25T23:59:59.999Z', '2026-01-19', '2026-01-12'],
    ['2026-01-26T00:00:00.000Z', '2026-01-26', '2026-01-19'],
    ['2026-01-28T12:00:00.000Z', '2026-01-26', '2026-01-19'],
    ['2026-02-01T23:59:59.999Z', '2026-01-26', '2026-01-19'],
    ['2026-03-01T00:00:00.000Z', '2026-02-23', '2026-02-16'],
  ])('at %s are of the week of %s, and before of that of %s', (at, monday, before) => {
    const trend = [{ score: 40 }, { score: null }] as Parameters<typeof weeksOf>[0];
    expect(weeksOf(trend, Date.parse(at))).toEqual([
      { weeksAgo: 1, monday: before, score: 40 },
      { weeksAgo: 0, monday, score: null },
    ]);
  });

  test.each([
    [null, '–', '–'],
    [-2, '-2', '-2'],
    [0, '0', '0'],
    [0.5, '0.5', '+0.5'],
  ])('of %j are written as %s, as a change %s', (value, figure, change) => {
    expect(figureText(value, format.number)).toBe(figure);
    expect(changeText(value, format.number)).toBe(change);
  });
});

describe('the usage', () => {
  const day = (name: string, requests: number[], peak_percent = 0) => {
    const [ok = 0, refused = 0, limited = 0, ours = 0] = requests;
    const by = { '2xx': ok, '4xx': refused, '429': limited, '5xx': ours };
    return { day: name, requests: by, peak_percent };
  };
  const days = [
    day('2026-01-29', [1_000, 20, 3, 4], 89),
    day('2026-01-30', [], 0),
    day('2026-01-31', [0, 0, 0, 1], 90),
  ];

  test('is of the days with a request, the latest first', () => {
    expect(usedDays(days)).toEqual([days[2], days[0]]);
  });

  test('comes as near to a limit as on its busiest day', () => {
    expect(peakOf(days)).toBe(0.9);
    expect(peakOf([])).toBe(0);
  });

  test('can be chosen for some days', () => {
    for (const days_ of USAGE_DAYS) expect(daysChosen(String(days_))).toBe(days_);
    for (const other of [undefined, '', '8']) expect(daysChosen(other)).toBeUndefined();
  });

  test('has each outcome in its own colour', () => {
    expect(STATUSES.map((status) => TONES[status])).toEqual(['main', 'warn', 'soft', 'bad']);
    const { statuses } = en.usage;
    expect(requestBars(days, en, format)[0]).toEqual({
      label: '29 Jan',
      parts: [
        { tone: 'main', value: 1_000 },
        { tone: 'warn', value: 20 },
        { tone: 'soft', value: 3 },
        { tone: 'bad', value: 4 },
      ],
      text:
        `29 Jan: ${statuses['2xx']} 1,000, ${statuses['4xx']} 20, ` +
        `${statuses['429']} 3, ${statuses['5xx']} 4`,
    });
  });

  test('is drawn as too much from 90 in a hundred on', () => {
    expect(FULL).toBe(90);
    expect(peakBars(days, format)).toEqual([
      { label: '29 Jan', parts: [{ tone: 'main', value: 89 }], text: '29 Jan: 89%' },
      { label: '30 Jan', parts: [{ tone: 'main', value: 0 }], text: '30 Jan: 0%' },
      { label: '31 Jan', parts: [{ tone: 'bad', value: 90 }], text: '31 Jan: 90%' },
    ]);
  });

  test('is a file with a row for each day, also without a request', () => {
    expect(usageRows(days)).toEqual([
      ['day', '2xx', '4xx', '429', '5xx', 'peak_percent'],
      ['2026-01-29', 1_000, 20, 3, 4, 89],
      ['2026-01-30', 0, 0, 0, 0, 0],
      ['2026-01-31', 0, 0, 0, 1, 90],
    ]);
  });
});
