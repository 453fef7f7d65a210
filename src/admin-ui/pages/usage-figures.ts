/** The figures of the usage: see `usage.tsx`. */
import type { Texts } from '../i18n/en.ts';
import type { Format } from '../i18n/formats.ts';
import { totalOf, type Day } from '../lib/days.ts';
import { USAGE_DAYS } from '../lib/search.ts';
import type { Bar, Tone } from '../ui/bars.ts';

type Status = keyof Day['requests'];

export const STATUSES = ['2xx', '4xx', '429', '5xx'] as const satisfies Status[];
export const TONES: Readonly<Record<Status, Tone>> = {
  '2xx': 'main',
  '4xx': 'warn',
  '429': 'soft',
  '5xx': 'bad',
};
/** From here on a program is about to be refused, or was: in percent of the limit. */
export const FULL = 90;

/** The days on which there was a request, the latest first. */
export function usedDays(days: readonly Day[]): Day[] {
  return days.filter((day) => totalOf(day) > 0).toReversed();
}

/** How near the busiest day came to its limit, as a share. */
export function peakOf(days: readonly Pick<Day, 'peak_percent'>[]): number {
  return Math.max(0, ...days.map(({ peak_percent }) => peak_percent)) / 100;
}

/** The number of days that a choice names. */
export function daysChosen(text: string | undefined): (typeof USAGE_DAYS)[number] | undefined {
  return USAGE_DAYS.find((one) => String(one) === text);
}

/** The requests of each day by their outcome. */
export function requestBars(days: readonly Day[], t: Texts, format: Format): Bar[] {
  return days.map(({ day, requests }) => {
    const label = format.shortDay(day);
    const texts = STATUSES.map(
      (status) => `${t.usage.statuses[status]} ${format.number(requests[status])}`,
    );
    return {
      label,
      parts: STATUSES.map((status) => ({ tone: TONES[status], value: requests[status] })),
      text: `${label}: ${texts.join(', ')}`,
    };
  });
}

/** How near each day came to a limit, in percent. */
export function peakBars(days: readonly Day[], format: Format): Bar[] {
  return days.map(({ day, peak_percent: peak }) => {
    const label = format.shortDay(day);
    return {
      label,
      parts: [{ tone: peak < FULL ? 'main' : 'bad', value: peak }],
      text: `${label}: ${format.percent(peak / 100)}`,
    };
  });
}

/** All days as rows of a file. */
export function usageRows(days: readonly Day[]): (string | number)[][] {
  return [
    ['day', ...STATUSES, 'peak_percent'],
    ...days.map(({ day, requests, peak_percent }) => [
      day,
      ...STATUSES.map((one) => requests[one]),
      peak_percent,
    ]),
  ];
}
