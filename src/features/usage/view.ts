import type { z } from 'zod';
import type { keyUsage } from './schema.ts';
import type { UsageRow } from './store.ts';

/** The usage of a key as the app shows it. */
export function toKeyUsage(row: UsageRow): z.input<typeof keyUsage> {
  const { day, key_id, key_name, count_2xx, count_4xx, count_429, count_5xx } = row;
  return {
    day,
    key_id,
    key_name,
    requests: { '2xx': count_2xx, '4xx': count_4xx, '429': count_429, '5xx': count_5xx },
  };
}
