// The figures and the first steps of the overview.
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { createFormat } from '../../../src/admin-ui/i18n/formats.ts';
import { few } from '../../../src/admin-ui/pages/few.ts';
import type { Facts } from '../../../src/admin-ui/pages/overview-facts.ts';
import {
  otherFigures,
  requestFigures,
  stateOfMany,
  stepsDone,
} from '../../../src/admin-ui/pages/overview-figures.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const DAY_MS = 86_400_000;
type Day = Facts['days'][number];

const day = (ok: number, refused = 0): Day => ({
  day: '2026-01-31',
  requests: { '2xx': ok, '4xx': refused, '429': 0, '5xx': 0 },
  peak_percent: 0,
});
const hook = (arrived: boolean[], status = 'active') =>
  ({
    arrived,
    status,
    days: [
      {
        day: '2026-01-31',
        arrived: arrived.filter(Boolean).length,
        failed: arrived.filter((one) => !one).length,
      },
    ],
  }) as unknown as Facts['hooks'][number];
const key = (last_used_at: string | null) => ({ last_used_at }) as Facts['keys'][number];
const crm = (last_error: string | null) =>
  ({ status: 'active', last_error, has_credentials: true }) as Facts['crms'][number];

describe('the requests', () => {
  test('are those of the last seven days, and all days are drawn', () => {
    const days = [day(0, 100), ...Array.from({ length: 7 }, () => day(9, 1))];
    const figures = requestFigures(days);
    expect(figures).toMatchObject({
      total: 70,
      errors: 0.1,
      today: 10,
      change: expect.closeTo(-0.3) as number,
    });
    expect(figures.totals).toEqual([100, 10, 10, 10, 10, 10, 10, 10]);
  });

  test('have no share of errors if there are none', () => {
    expect(requestFigures([day(0)])).toEqual({
      total: 0,
      today: 0,
      change: null,
      errors: null,
      totals: [0],
      errorHeights: [0],
    });
  });

  test.each([
    [
      [day(95, 5), day(100)],
      [0.5, 0],
    ],
    [
      [day(90, 10), day(95, 5)],
      [1, 0.5],
    ],
    [
      [day(80, 20), day(90, 10), day(0)],
      [1, 0.5, 0],
    ],
  ])('draw errors in the height of the worst day, or of a tenth', (days, heights) => {
    const drawn = requestFigures(days).errorHeights;
    expect(drawn.map((height) => Number(height.toFixed(9)))).toEqual(heights);
  });
});

describe('the receivers, keys and CRM connections', () => {
  const nothing = { keys: [], days: [day(0)], hooks: [], crms: [] };

  test('are none at first', () => {
    expect(otherFigures(nothing, NOW)).toEqual({
      success: null,
      outcomes: [{ arrived: 0, failed: 0 }],
      active: 0,
      inUse: 0,
      works: 0,
    });
  });

  test('are counted if they work', () => {
    const hooks = [
      hook([true, true]),
      hook([true, false, false, false], 'disabled'),
      hook([], 'disabled_failures'),
    ];
    const recently = new Date(NOW - DAY_MS).toISOString();
    const before = new Date(NOW - 8 * DAY_MS).toISOString();
    const keys = [key(recently), key(before), key(null)];
    expect(
      otherFigures({ ...nothing, keys, hooks, crms: [crm(null), crm('refused')] }, NOW),
    ).toEqual({
      success: 0.5,
      outcomes: [{ arrived: 3, failed: 3 }],
      active: 1,
      inUse: 1,
      works: 1,
    });
  });
});

test.each([
  [0, 0, 'empty'],
  [0, 2, 'none'],
  [1, 2, 'some'],
  [2, 2, 'all'],
] as const)('the state of %i of %i that work is %s', (works, all, state) => {
  expect(stateOfMany(works, all)).toBe(state);
});

test.each([en, de])('of receivers and CRMs a state stands where a number was', (t) => {
  for (const words of [t.overview.hookStates, t.overview.crmStates]) {
    expect(words.none('0', '2')).not.toMatch(/[0-9%]/);
    expect(words.all('2', '2')).not.toMatch(/[0-9%]/);
  }
});

describe('the first steps', () => {
  const nothing = { keys: [], hooks: [], days: [day(0)] };
  const alone = { admins: [], ownId: 'mem_1' };
  const done = (facts: Partial<Facts>, who: Partial<typeof alone> = {}) =>
    Object.entries(stepsDone({ ...nothing, ...facts }, { ...alone, ...who }))
      .filter(([, isDone]) => isDone)
      .map(([step]) => step);
  const admin = (id: string, rights: string[]) => ({ id, rights }) as never;

  test('are in the order of the page', () => {
    expect(Object.keys(stepsDone(nothing, alone))).toEqual([
      'key',
      'request',
      'webhook',
      'test',
      'colleague',
    ]);
  });

  test.each([
    ['nothing', {}, []],
    ['a key', { keys: [key(null)] }, ['key']],
    ['a key that was used', { keys: [key('2026-01-01T00:00:00Z')] }, ['key', 'request']],
    ['a request of a key that is gone', { days: [day(0), day(0, 1)] }, ['request']],
    ['an endpoint', { hooks: [hook([])] }, ['webhook']],
    ['one that fails', { hooks: [hook([false])] }, ['webhook']],
    ['one that works', { hooks: [hook([]), hook([false, true])] }, ['webhook', 'test']],
  ] as const)('with %s are %j', (_, facts, steps) => {
    expect(done(facts as Partial<Facts>)).toEqual(steps);
  });

  test('want a colleague with a right', () => {
    expect(done({}, { admins: [admin('mem_1', ['schnittstellen'])] as never })).toEqual([]);
    expect(done({}, { admins: [admin('mem_2', [])] as never })).toEqual([]);
    expect(done({}, { admins: [admin('mem_2', ['schnittstellen'])] as never })).toEqual([
      'colleague',
    ]);
  });
});

test('five names stand in a text, and how many others there are', () => {
  const format = createFormat('en');
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  expect(few(names.slice(0, 5), en, format)).toBe('a, b, c, d and e');
  expect(few(names.slice(0, 6), en, format)).toBe(`a, b, c, d, e and ${en.overview.others(1)}`);
  expect(few(names, en, format)).toBe(`a, b, c, d, e and ${en.overview.others(2)}`);
});
