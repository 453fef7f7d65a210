import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import * as store from './store.ts';
import type { DayRow, UsageFilters } from './store.ts';

const DAY_MS = 86_400_000;
/** The counts are kept for as long (features/retention/rules.ts). */
const DAYS = 90;

/**
 * Adds up the usage of the last 90 days by day, today included, unless the filters ask for fewer.
 * The first day comes first.
 */
export function listDays(
  db: Db,
  clock: Clock,
  teamId: string,
  { since, until, key_id }: Partial<Record<keyof UsageFilters, string | undefined>>,
): Promise<DayRow[]> {
  const first = new Date(clock.now().getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const from = since !== undefined && since > first ? since : first;
  return store.listDays(db, teamId, { since: from, until, key_id });
}
