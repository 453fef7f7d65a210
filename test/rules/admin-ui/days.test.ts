// The days of the usage, which are those of UTC.
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fetchWithTime, setClock } from '../../../src/admin-ui/lib/clock.ts';
import { DAY_MS, fillDays, firstDayOf } from '../../../src/admin-ui/lib/days.ts';
import { sinceOf } from '../../../src/admin-ui/lib/search.ts';
import { endOfGrace } from '../../../src/admin-ui/pages/graces.ts';
import { isAhead } from '../../../src/admin-ui/pages/sandbox-state.ts';

afterEach(() => {
  vi.useRealTimers();
});
const at = (iso: string) => vi.useFakeTimers({ now: Date.parse(iso), toFake: ['Date'] });

const EMPTY = { requests: { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 }, peak_percent: 0 };
const MOMENTS = ['2026-03-01T00:00:00.000Z', '2026-03-01T12:00:00Z', '2026-03-01T23:59:59.999Z'];

test('a day has 24 hours', () => {
  expect(DAY_MS).toBe(24 * 60 * 60 * 1000);
});

describe('by the clock of the service', () => {
  afterEach(() => setClock(null));

  test.each([
    ['2026-03-01T23:30:00Z', 'Mon, 02 Mar 2026 01:30:00 GMT'],
    ['2026-03-02T23:30:00Z', 'Mon, 02 Mar 2026 01:30:00 GMT'],
  ])('a browser whose clock says %s knows which day it is', (moment, date) => {
    at(moment);
    setClock(date);
    expect(firstDayOf(1)).toBe('2026-03-02');
    expect(fillDays([], '2026-03-01').map(({ day }) => day)).toEqual(['2026-03-01', '2026-03-02']);
    expect(sinceOf('1h')).toBe('2026-03-02T00:30:00.000Z');
    expect(endOfGrace('hour')).toBe('2026-03-02T02:30:00.000Z');
    expect(isAhead('2026-03-02T01:29:59Z')).toBe(false);
    expect(isAhead('2026-03-02T01:30:01Z')).toBe(true);
  });

  test('a clock that was put right meanwhile is believed after the next answer', async () => {
    const answers = ['Mon, 02 Mar 2026 12:00:00 GMT', null].map((date) => {
      return new Response('', { headers: date === null ? {} : { date } });
    });
    const fetch = vi.fn<() => Promise<Response>>(async () => answers.shift() ?? Response.error());
    vi.stubGlobal('fetch', fetch);
    onTestFinished(() => void vi.unstubAllGlobals());
    at('2026-03-02T14:00:00Z');
    setClock('Mon, 02 Mar 2026 12:00:00 GMT');
    expect(sinceOf('1h')).toBe('2026-03-02T11:00:00.000Z');
    at('2026-03-02T12:00:00Z');
    expect((await fetchWithTime('/trpc/me', { method: 'GET' })).status).toBe(200);
    expect(fetch).toHaveBeenCalledExactlyOnceWith('/trpc/me', { method: 'GET' });
    expect(sinceOf('1h')).toBe('2026-03-02T11:00:00.000Z');
    // An answer that says no time says nothing of the clock.
    at('2026-03-02T14:00:00Z');
    setClock('Mon, 02 Mar 2026 12:00:00 GMT');
    await fetchWithTime('/trpc/me');
    expect(sinceOf('1h')).toBe('2026-03-02T11:00:00.000Z');
  });

  test('time that the answer took is not taken for a wrong clock', () => {
    at('2026-03-01T12:00:59Z');
    setClock('Sun, 01 Mar 2026 12:00:00 GMT');
    expect(sinceOf('1h')).toBe('2026-03-01T11:00:59.000Z');
    setClock('Sun, 01 Mar 2026 11:59:58 GMT');
    expect(sinceOf('1h')).toBe('2026-03-01T10:59:58.000Z');
  });
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

  test('no day is left out that the service has sent, whatever the clock says', () => {
    at(moment);
    const next = { ...EMPTY, day: '2026-03-02' };
    expect(fillDays([next], '2026-03-01')).toEqual([{ ...EMPTY, day: '2026-03-01' }, next]);
  });

  test.each([1, 7, 30, 90])('%i days are as many', (count) => {
    at(moment);
    const days = fillDays([], firstDayOf(count));
    expect(days).toHaveLength(count);
    expect(days.at(-1)?.day).toBe('2026-03-01');
  });
});
