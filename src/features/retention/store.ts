import { statement, type Db } from '../../db/client.ts';
import { releaseKeptEvents, type RemovedDelivery } from '../../db/kept-events.ts';
import {
  BATCH_MAX,
  GIVEN_UP_JOB_KEEP_MS,
  RATE_COUNTER_KEEP_MINUTES,
  RETENTIONS,
  type Need,
  type Retention,
} from './rules.ts';

/** What one statement reads. */
export interface BatchRange {
  readonly position: string | null;
  readonly limit: number;
}

/** What one statement has done. */
export interface Batch {
  /** How many rows it has read. If these are as many as it may read, there may be more. */
  readonly seen: number;
  readonly removed: number;
  /** Where the next statement begins; null if it has read none. */
  readonly position: string | null;
  /** The events of the deliveries that it has removed, each once. */
  readonly deliveries?: readonly RemovedDelivery[];
}

const OUTCOME = `(select count(*) from seen)::int as seen,
      (select count(*) from gone)::int as removed`;

const BEFORE = {
  timestamptz: '$1::timestamptz',
  date: `($1::timestamptz at time zone 'UTC')::date`,
};

// Each statement reads the index from where the last one ended, so none passes the entries of rows
// that earlier ones have deleted. The constant limit, the one that the planner cannot know, the
// ctid and `offset 0` make it fetch each row by its place or its key, however large the tables are.
function seenText(
  { table, at, type = 'timestamptz', condition = 'true' }: Retention,
  key: string,
): string {
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
      limit (select $3::bigint)`;
}

function deletionText(retention: Retention): string {
  return `with seen as materialized (
      ${seenText(retention, '')}
    ), gone as (
      delete from ${retention.table}
      where ctid = any (array(select place from seen))
      returning ${retention.isDelivery ? 'team_id, event_id' : '1'}
    )
    select ${OUTCOME}, (select max(at) from seen) as position${
      retention.isDelivery
        ? `,
      (
        select coalesce(json_agg(one), '[]')
        from (
          select distinct team_id, event_id
          from gone
        ) one
      ) as deliveries`
        : ''
    }`;
}

// A row that is needed gets its mark. One of the rows that need it is locked before, so that
// whoever deletes the last of them waits and then finds the mark. If they are being deleted
// already, the next run decides.
function deletionOrMarkText(retention: Retention, { rows, mark }: Need): string {
  const { table } = retention;
  return `with seen as materialized (
      select seen.*, exists (select from ${rows} offset 0) as is_needed
      from (
        ${seenText(retention, ', team_id, id')}
      ) seen
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
        where is_needed
      ))
    ), gone as (
      delete from ${table}
      where ctid = any (array(
        select place
        from seen
        where not is_needed
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
  { position, limit }: BatchRange,
): Promise<Batch> {
  const deletion = DELETIONS.get(retention);
  if (!deletion) throw new Error(`no statement deletes old ${retention.name}`);
  const values = [before, position, limit];
  if (!retention.isDelivery) return one(await db.query(deletion, values));
  return db.transaction(async (tx) => {
    const batch = one(await tx.query(deletion, values));
    await releaseKeptEvents(tx, batch.deliveries ?? []);
    return batch;
  });
}

// Both walk through all counters, because an index by minute would have to be changed with most
// requests. Counters in use are skipped: a request holds its key's counter while it waits for that
// of all keys.
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
     limit (select $3::bigint)
   ), gone as (
     delete from rate_counter
     where ctid = any (array(
       select ctid
       from rate_counter
       where ctid = any (array(
           select place
           from seen
           where minute < $1
         ))
         and minute < $1
       for update skip locked
     ))
     returning 1
   )
   select ${OUTCOME},
     (select max(bucket) from seen) as position`,
);

// The counter of a key stays as long as the key, because it tells when the key was last used. A
// request that was being counted while its team was erased leaves one behind.
const DELETE_TEAM_COUNTERS = statement<Batch>(
  'retention.teamCounters',
  `with seen as materialized (
     select *
     from (
       select ctid as place, team_id, bucket, minute
       from team_counter
       where (team_id, bucket) > (coalesce($2::json ->> 0, ''), coalesce($2::json ->> 1, ''))
       order by team_id, bucket
       limit ${BATCH_MAX}
     ) page
     limit (select $3::bigint)
   ), gone as (
     delete from team_counter
     where ctid = any (array(
       select ctid
       from team_counter
       where ctid = any (array(
           select place
           from seen
           where minute < $1
             and not exists (
               select
               from api_key k
               where k.team_id = seen.team_id
                 and seen.bucket like 'key:%'
                 and k.prefix = substr(seen.bucket, 5)
             )
         ))
         and minute < $1
       for update skip locked
     ))
     returning 1
   )
   select ${OUTCOME},
     (
       select json_build_array(team_id, bucket)::text
       from seen
       order by team_id desc, bucket desc
       limit 1
     ) as position`,
);

/** The kinds of rate counters, by whom they count for. */
export type CounterKind = 'counters' | 'teamCounters';

/** Deletes old rate counters among the next `limit` after `position`, but not those of keys. */
export async function deleteOldCounters(
  db: Db,
  kind: CounterKind,
  now: Date,
  { position, limit }: BatchRange,
): Promise<Batch> {
  const what = kind === 'counters' ? DELETE_COUNTERS : DELETE_TEAM_COUNTERS;
  return one(await db.query(what, [oldMinute(now), position, limit]));
}

// Addresses have no team, so their counters are in all shards. Those that are counting are younger.
const DELETE_COUNTERS_IN_SHARDS = statement(
  'retention.countersInShards',
  `delete from rate_counter
   where minute < $1
     and bucket in (
       select bucket
       from rate_counter
       where minute < $1
       limit $2
     )
   returning bucket`,
);

/** Deletes up to `limit` old rate counters of addresses on a distributed database. */
export async function deleteCountersInShards(db: Db, now: Date, limit: number): Promise<Batch> {
  const { length } = await db.query(DELETE_COUNTERS_IN_SHARDS, [oldMinute(now), limit]);
  // One that counts again meanwhile is left, so a batch with fewer is not the last one.
  return { seen: length === 0 ? 0 : limit, removed: length, position: null };
}

const DELETE_GIVEN_UP_JOBS = statement<{ readonly id: string }>(
  'retention.givenUpJobs',
  `select id::text
   from graphile_worker.complete_jobs(array(
     select id
     from graphile_worker.jobs
     where attempts >= max_attempts
       and locked_at is null
       and run_at < $1::timestamptz
     limit $2
   ))`,
);

/** Deletes up to `limit` jobs that have failed for the last time, long before `now`. */
export async function deleteGivenUpJobs(db: Db, now: Date, limit: number): Promise<Batch> {
  const before = new Date(now.getTime() - GIVEN_UP_JOB_KEEP_MS);
  const { length } = await db.query(DELETE_GIVEN_UP_JOBS, [before, limit]);
  return { seen: length, removed: length, position: null };
}

/** More rows than these wait for the next run. */
const LOOKED_AT = 100_000;

const TEAMS = new Map(
  RETENTIONS.map(({ name, table, at, type = 'timestamptz', condition = 'true' }) => [
    name,
    statement<{ readonly team_id: string }>(
      `retention.teams.${name}`,
      `select distinct team_id
       from (
         select team_id
         from ${table}
         where ${at} < ${BEFORE[type]}
           and ${condition}
         order by ${at}
         limit ${LOOKED_AT}
       ) old`,
    ),
  ]),
);

/** Returns the teams that have old rows of a kind, on a distributed database. */
export async function findTeams(
  db: Db,
  { name }: Retention,
  before: Date,
): Promise<readonly string[]> {
  const find = TEAMS.get(name);
  if (!find) throw new Error(`no statement finds teams with old ${name}`);
  return (await db.query(find, [before])).map(({ team_id }) => team_id);
}

const COUNTED_TEAMS = statement<{ readonly team_id: string }>(
  'retention.teams.counted',
  `select distinct team_id
   from team_counter
   where minute < $1`,
);

/** Returns the teams that have old counters, on a distributed database. */
export async function findCountedTeams(db: Db, now: Date): Promise<readonly string[]> {
  return (await db.query(COUNTED_TEAMS, [oldMinute(now)])).map(({ team_id }) => team_id);
}

/** Counters of earlier minutes are old. */
function oldMinute(now: Date): number {
  return Math.floor(now.getTime() / 60_000) - RATE_COUNTER_KEEP_MINUTES;
}

function one([row]: readonly Batch[]): Batch {
  if (!row) throw new Error('an aggregate returned no row');
  return row;
}
