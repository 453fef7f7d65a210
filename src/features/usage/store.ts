import { statement, type Db } from '../../db/client.ts';
import { queryTeams } from '../../db/parts.ts';
import { holdUnlessLocked } from '../../db/row-lock.ts';
import type { RowOf } from '../../db/rows.ts';

/** The requests of a day (`YYYY-MM-DD`), and its peak, of the limit of a minute. */
export type DayRow = Omit<RowOf<'ApiKeyUsage'>, 'team_id' | 'key_id'>;

/** Which days, and of which key. */
export interface UsageFilters {
  /** `YYYY-MM-DD`, both inclusive. */
  readonly since: string;
  readonly until?: string | undefined;
  readonly key_id?: string | undefined;
}

const LIST_DAYS = statement<DayRow>(
  'usage.listDays',
  `select u.day,
     sum(u.count_2xx)::int as count_2xx,
     sum(u.count_4xx)::int as count_4xx,
     sum(u.count_429)::int as count_429,
     sum(u.count_5xx)::int as count_5xx,
     max(u.peak_percent) as peak_percent
   from api_key_usage u
   where u.team_id = $1
     and u.day >= $2::date
     and u.day <= coalesce($3::date, 'infinity')
     and ($4::text is null or u.key_id = $4)
   group by u.day
   order by u.day`,
);

/** Adds up the requests of all keys, or of one, by day, the first day first. */
export function listDays(
  db: Db,
  teamId: string,
  { since, until, key_id }: UsageFilters,
): Promise<DayRow[]> {
  return db.query(LIST_DAYS, [teamId, since, until ?? null, key_id ?? null]);
}

/** The requests of a key on a day that one process has counted. */
export interface Counts {
  readonly teamId: string;
  readonly keyId: string;
  /** Days since 1970, UTC. */
  readonly day: number;
  /** Of the last request: minutes since 1970. */
  lastMinute: number;
  count2xx: number;
  count4xx: number;
  count429: number;
  count5xx: number;
  /** The largest share of a minute's limit that was used, from 0 to 100. */
  peakPercent: number;
}

// Writes the counts of the keys that it can lock. Keys that were deleted are left out; those that
// somebody has locked are returned, because the counts of other teams must not wait for them. Rows
// are written in the order of their keys, so that two processes wait for each other instead of
// deadlocking. The last use of a key that another process is writing is left to that process.
// `locked` is a query of its own, because Citus loses the columns of one that locks rows here.
const ADD = statement<{ readonly team_id: string; readonly day: number; readonly key_id: string }>(
  'usage.add',
  `with given as materialized (
     select *
     from unnest(
       $1::text[], $2::int[], $3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
       $9::int[]
     ) as n (
       team_id, day, key_id, count_2xx, count_4xx, count_429, count_5xx, last_minute, peak_percent
     )
   ), known as materialized (
     select n.*, own.is_held
     from given n
     join api_key k on k.team_id = n.team_id and k.id = n.key_id
     ${holdUnlessLocked('api_key', 'team_id = n.team_id and id = n.key_id')}
   ), added as (
     insert into api_key_usage as u
       (team_id, day, key_id, count_2xx, count_4xx, count_429, count_5xx, peak_percent)
     select team_id, date '1970-01-01' + day, key_id, count_2xx, count_4xx, count_429, count_5xx,
       peak_percent
     from known
     where is_held
     order by team_id, day, key_id
     on conflict (team_id, day, key_id) do update
     set count_2xx = u.count_2xx + excluded.count_2xx,
       count_4xx = u.count_4xx + excluded.count_4xx,
       count_429 = u.count_429 + excluded.count_429,
       count_5xx = u.count_5xx + excluded.count_5xx,
       peak_percent = greatest(u.peak_percent, excluded.peak_percent)
   ), used as materialized (
     select team_id, key_id, to_timestamp(max(last_minute) * 60::float8) as last_used_at
     from known
     where is_held
     group by team_id, key_id
   ), free as materialized (
     select *
     from (
       select k.team_id, k.id, u.last_used_at
       from api_key k
       join used u on u.team_id = k.team_id and u.key_id = k.id
       where (k.last_used_at is null or k.last_used_at < u.last_used_at)
       order by k.team_id, k.id
       for no key update of k skip locked
     ) locked
   ), touched as (
     update api_key k
     set last_used_at = f.last_used_at
     from free f
     where k.team_id = f.team_id and k.id = f.id
   )
   select team_id, day, key_id
   from known
   where is_held is null`,
);

/**
 * Adds the counts to the stored ones, in one statement. Returns those that must be added later.
 * Covers all teams, because the process counts for all of them and this is no team's request.
 */
export async function addUsage(db: Db, counts: readonly Counts[]): Promise<readonly Counts[]> {
  const names = [
    'teamId',
    'day',
    'keyId',
    'count2xx',
    'count4xx',
    'count429',
    'count5xx',
    'lastMinute',
    'peakPercent',
  ] as const;
  const columns = names.map((name) => counts.map((count) => count[name]));
  const busy = await queryTeams(db, ADD, columns);
  return counts.filter(({ teamId, day, keyId }) =>
    busy.some((row) => row.team_id === teamId && row.day === day && row.key_id === keyId),
  );
}
