import type { PagePosition } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { isAfter, newestFirst, positionValues } from '../../db/keyset.ts';

/** The requests of one key on one day. */
export interface UsageRow {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly key_id: string;
  readonly key_name: string;
  readonly count_2xx: number;
  readonly count_4xx: number;
  readonly count_429: number;
  readonly count_5xx: number;
}

const BY_DAY = ['u.day', 'u.key_id'] as const;

const LIST = statement<UsageRow>(
  'usage.list',
  `select u.day, u.key_id, k.name as key_name,
     u.count_2xx, u.count_4xx, u.count_429, u.count_5xx
   from api_key_usage u
   join api_key k on k.team_id = u.team_id and k.id = u.key_id
   where u.team_id = $1
     and ${isAfter(BY_DAY, ['$3', '$4'], 'date')}
     and u.day >= $5::date
     and u.day <= coalesce($6::date, 'infinity')
     and ($7::text is null or u.key_id = $7)
   ${newestFirst(BY_DAY, '$2')}`,
);

/** Which days, and of which key. */
export interface UsageFilters {
  /** `YYYY-MM-DD`, both inclusive. */
  readonly since: string;
  readonly until?: string | undefined;
  readonly key_id?: string | undefined;
}

/** Lists the last day first, from the position `after` on. Its `at` is the beginning of a day. */
export function listUsage(
  db: Db,
  teamId: string,
  { limit, after }: { readonly limit: number; readonly after: PagePosition | null },
  { since, until, key_id }: UsageFilters,
): Promise<UsageRow[]> {
  const afterDay = after && { at: after.at.slice(0, 10), id: after.id };
  return db.query(LIST, [
    teamId,
    limit,
    ...positionValues(afterDay),
    since,
    until ?? null,
    key_id ?? null,
  ]);
}

/** The requests of a key on a day that one process has counted. */
export interface Counts {
  readonly teamId: string;
  readonly keyId: string;
  /** Days since 1970, UTC. */
  readonly day: number;
  count2xx: number;
  count4xx: number;
  count429: number;
  count5xx: number;
}

// The join leaves out keys that were deleted. Rows are written in the order of their keys, so that
// two processes wait for each other instead of deadlocking.
const ADD = statement(
  'usage.add',
  `insert into api_key_usage as u
     (team_id, day, key_id, count_2xx, count_4xx, count_429, count_5xx)
   select n.team_id, date '1970-01-01' + n.day, n.key_id,
     n.count_2xx, n.count_4xx, n.count_429, n.count_5xx
   from unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[])
     as n (team_id, day, key_id, count_2xx, count_4xx, count_429, count_5xx)
   join api_key k on k.team_id = n.team_id and k.id = n.key_id
   order by n.team_id, n.day, n.key_id
   on conflict (team_id, day, key_id) do update
   set count_2xx = u.count_2xx + excluded.count_2xx,
     count_4xx = u.count_4xx + excluded.count_4xx,
     count_429 = u.count_429 + excluded.count_429,
     count_5xx = u.count_5xx + excluded.count_5xx`,
);

/**
 * Adds the counts to the stored ones, in one statement. Covers all teams, because the process
 * counts for all of them and this is no team's request.
 */
export async function addUsage(db: Db, counts: readonly Counts[]): Promise<void> {
  const names = ['teamId', 'day', 'keyId', 'count2xx', 'count4xx', 'count429', 'count5xx'] as const;
  await db.query(
    ADD,
    names.map((name) => counts.map((count) => count[name])),
  );
}
