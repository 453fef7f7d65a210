import type { Clock } from '../../core/clock.ts';
import { readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import type { Db } from '../../db/client.ts';
import * as store from './store.ts';
import type { DayRow, UsageFilters, UsageRow } from './store.ts';

const LIST = 'usage';
const DAY_MS = 86_400_000;
/** The counts are kept for as long (features/retention/rules.ts). */
const DAYS = 90;

/** What a list is asked for. `since` and `until` are UTC days, `YYYY-MM-DD`, both inclusive. */
export interface UsageQuery extends PageQuery {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly key_id?: string | undefined;
}

/**
 * Lists the usage of the last 90 days, today included, unless the query asks for fewer. The last
 * day comes first. Throws `validation_error` for a cursor of another list.
 */
export async function listUsage(
  db: Db,
  clock: Clock,
  teamId: string,
  query: UsageQuery,
): Promise<Page<UsageRow>> {
  const filters = filtersOf(clock, query);
  const positionOf = (row: UsageRow) => ({ at: `${row.day}T00:00:00.000Z`, id: row.key_id });
  return readPageBy(positionOf, LIST, query, (slice) =>
    store.listUsage(db, teamId, slice, filters),
  );
}

/** Adds up by day what `listUsage` lists, the first day first. */
export function listDays(
  db: Db,
  clock: Clock,
  teamId: string,
  query: Omit<UsageQuery, keyof PageQuery>,
): Promise<DayRow[]> {
  return store.listDays(db, teamId, filtersOf(clock, query));
}

function filtersOf(
  clock: Clock,
  { since, until, key_id }: Omit<UsageQuery, keyof PageQuery>,
): UsageFilters {
  const first = new Date(clock.now().getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  return { since: since !== undefined && since > first ? since : first, until, key_id };
}
