import type { z } from 'zod';
import type { dailyUsage, keyUsage } from './schema.ts';
import type { DayRow, UsageRow } from './store.ts';

/** The usage of a key as the app shows it. */
export function toKeyUsage(row: UsageRow): z.input<typeof keyUsage> {
  const { day, key_id, key_name, peak_percent } = row;
  return { day, key_id, key_name, requests: requestsOf(row), peak_percent };
}

/** The usage of a day as the app shows it. */
export function toDay(row: DayRow): z.input<typeof dailyUsage>['data'][number] {
  const { day, peak_percent } = row;
  return { day, requests: requestsOf(row), peak_percent };
}

function requestsOf({
  count_2xx,
  count_4xx,
  count_429,
  count_5xx,
}: Omit<DayRow, 'day' | 'peak_percent'>) {
  return { '2xx': count_2xx, '4xx': count_4xx, '429': count_429, '5xx': count_5xx };
}
