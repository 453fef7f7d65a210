import type { Clock } from '../../core/clock.ts';
import { readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import type { Db } from '../../db/client.ts';
import * as store from './store.ts';
import type { UsageRow } from './store.ts';

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
  const { until, key_id } = query;
  const first = new Date(clock.now().getTime() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
  const since = query.since !== undefined && query.since > first ? query.since : first;
  const positionOf = (row: UsageRow) => ({ at: `${row.day}T00:00:00.000Z`, id: row.key_id });
  return readPageBy(positionOf, LIST, query, (slice) =>
    store.listUsage(db, teamId, slice, { since, until, key_id }),
  );
}
