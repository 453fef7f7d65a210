import { statement, type Db } from '../../db/client.ts';
import {
  BATCH_MAX,
  RATE_COUNTER_KEEP_MINUTES,
  RETENTIONS,
  type Need,
  type Retention,
} from './rules.ts';

/** What one statement has done. */
export interface Batch {
  /** How many rows it has read. If these are as many as it may read, there may be more. */
  readonly seen: number;
  readonly removed: number;
  /** Where the next statement begins; null if it has read none. */
  readonly position: string | null;
}

const OUTCOME = `(select count(*) from seen)::int as seen,
      (select count(*) from gone)::int as removed`;

const BEFORE = {
  timestamptz: '$1::timestamptz',
  date: `($1::timestamptz at time zone 'UTC')::date`,
};

// Each statement reads the index from where the last one ended, so none passes the entries of rows
// that earlier ones have deleted. The constant limit, the ctid and `offset 0` make the planner
// fetch each row by its place or its key, however large the tables are.
function seenText({ table, at, type, condition = 'true' }: Retention, key: string): string {
  return `select *
      from (
        select ctid as place, ${at} as at${key}
        from ${table}
        where ${at} < ${BEFORE[type]}
          and ${at} >= coalesce($2::${type}, '-infinity')
          and ${condition}
        order by ${at}
        limit ${BATCH_MAX}
        for update skip locked
      ) page
      limit $3`;
}

function deletionText(retention: Retention): string {
  return `with seen as materialized (
      ${seenText(retention, '')}
    ), gone as (
      delete from ${retention.table}
      where ctid = any (array(select place from seen))
      returning 1
    )
    select ${OUTCOME}, (select max(at) from seen) as position`;
}

// A row that is needed gets its mark. One of the rows that need it is locked before, so that
// whoever deletes the last of them waits and then finds the mark. If they are being deleted
// already, the next run decides.
function deletionOrMarkText(retention: Retention, { rows, mark }: Need): string {
  const { table } = retention;
  return `with seen as materialized (
      ${seenText(retention, ', team_id, id')}
    ), marked as (
      update ${table}
      set ${mark} = true
      where ctid = any (array(
        select place
        from seen
        cross join lateral (
          select
          from ${rows}
          limit 1
          for key share skip locked
        ) one
      ))
    ), gone as (
      delete from ${table}
      where ctid = any (array(
        select place
        from seen
        where not exists (select from ${rows} offset 0)
      ))
      returning 1
    )
    select ${OUTCOME}, (select max(at) from seen) as position`;
}

const DELETIONS = new Map(
  RETENTIONS.map((retention) => {
    const { name, neededBy } = retention;
    const text = neededBy ? deletionOrMarkText(retention, neededBy) : deletionText(retention);
    return [retention, statement<Batch>(`retention.${name}`, text)];
  }),
);

/**
 * Deletes at most `limit` rows of a kind that are older than `before`, from `position` on; null is
 * the beginning. Covers all teams, because this is the operator's job and not a team's request.
 * Locked rows are left for the next run. `retention` must be one of `RETENTIONS`.
 */
export async function deleteOld(
  db: Db,
  retention: Retention,
  before: Date,
  { position, limit }: { readonly position: string | null; readonly limit: number },
): Promise<Batch> {
  const deletion = DELETIONS.get(retention);
  if (!deletion) throw new Error(`no statement deletes old ${retention.name}`);
  return one(await db.query(deletion, [before, position, limit]));
}

// Walks through all counters, because an index by minute would have to be changed with most
// requests. The counter of a key stays as long as the key, because it tells when the key was last
// used. A request that was being counted while its team was erased leaves one behind. Counters in
// use are skipped: a request holds its key's counter while it waits for its team's.
const DELETE_COUNTERS = statement<Batch>(
  'retention.counters',
  `with seen as materialized (
     select *
     from (
       select ctid as place, bucket, minute
       from rate_counter
       where bucket > coalesce($2, '')
       order by bucket
       limit ${BATCH_MAX}
     ) page
     limit $3
   ), gone as (
     delete from rate_counter
     where ctid = any (array(
       select ctid
       from rate_counter
       where ctid = any (array(
           select place
           from seen
           where minute < $1
             and not exists (
               select
               from api_key
               where bucket like 'key:%' and prefix = substr(bucket, 5)
             )
         ))
         and minute < $1
       for update skip locked
     ))
     returning 1
   )
   select ${OUTCOME},
     (select max(bucket) from seen) as position`,
);

/** Deletes old rate counters among the next `limit` after `position`, but not those of keys. */
export async function deleteOldCounters(
  db: Db,
  now: Date,
  { position, limit }: { readonly position: string | null; readonly limit: number },
): Promise<Batch> {
  const minute = Math.floor(now.getTime() / 60_000) - RATE_COUNTER_KEEP_MINUTES;
  return one(await db.query(DELETE_COUNTERS, [minute, position, limit]));
}

function one([row]: readonly Batch[]): Batch {
  if (!row) throw new Error('an aggregate returned no row');
  return row;
}
