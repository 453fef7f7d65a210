import type { z } from 'zod';
import type { dailyUsage } from './schema.ts';
import type { DayRow } from './store.ts';

/** The usage of a day as the app shows it. */
export function toDay(row: DayRow): z.input<typeof dailyUsage>['data'][number] {
  const { day, count_2xx, count_4xx, count_429, count_5xx, peak_percent } = row;
  const requests = { '2xx': count_2xx, '4xx': count_4xx, '429': count_429, '5xx': count_5xx };
  return { day, requests, peak_percent };
}
