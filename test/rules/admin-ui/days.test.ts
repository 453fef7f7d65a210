// The days of the usage, which are those of UTC.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DAY_MS, fillDays, firstDayOf } from '../../../src/admin-ui/lib/days.ts';

afterEach(() => {
  vi.useRealTimers();
});
const at = (iso: string) => vi.useFakeTimers({ now: Date.parse(iso), toFake: ['Date'] });

const EMPTY = { requests: { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 }, peak_percent: 0 };
const MOMENTS = ['2026-03-01T00:00:00.000Z', '2026-03-01T12:00:00Z', '2026-03-01T23:59:59.999Z'];

test('a day has 24 hours', () => {
  expect(DAY_MS).toBe(24 * 60 * 60 * 1000);
});

describe.each(MOMENTS)('at %s', (moment) => {
  test.each([
    [1, '2026-03-01'],
    [2, '2026-02-28'],
    [7, '2026-02-23'],
    [30, '2026-01-31'],
  ])('the first of %i days is %s', (count, first) => {
    at(moment);
    expect(firstDayOf(count)).toBe(first);
  });

  test('the days without requests are added, until today', () => {
    at(moment);
    const known = { ...EMPTY, day: '2026-02-28', peak_percent: 40 };
    const older = { ...EMPTY, day: '2026-02-26' };
    expect(fillDays([older, known], '2026-02-27')).toEqual([
      { ...EMPTY, day: '2026-02-27' },
      known,
      { ...EMPTY, day: '2026-03-01' },
    ]);
  });

  test.each([1, 7, 30, 90])('%i days are as many', (count) => {
    at(moment);
    const days = fillDays([], firstDayOf(count));
    expect(days).toHaveLength(count);
    expect(days.at(-1)?.day).toBe('2026-03-01');
  });
});
