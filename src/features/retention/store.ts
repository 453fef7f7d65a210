import { statement, type Db } from '../../db/client.ts';
import { RATE_COUNTER_KEEP_MINUTES, RETENTIONS, type Retention } from './rules.ts';

const DELETE_OLD = new Map(
  RETENTIONS.map((retention) => {
    const { name, table, key, condition } = retention;
    const text = `with old as (
        select ${key}
        from ${table}
        where ${condition}
        limit $2
        for update skip locked
      )
      delete from ${table}
      where (${key}) in (select ${key} from old)
      returning 1`;
    return [retention, statement(`retention.${name}`, text)];
  }),
);

/**
 * Deletes at most `limit` rows of a kind that are older than `before`, and returns how many. Covers
 * all teams, because this is the operator's job and not a team's request. Locked rows are left for
 * the next run. `retention` must be one of `RETENTIONS`.
 */
export async function deleteOld(
  db: Db,
  retention: Retention,
  before: Date,
  limit: number,
): Promise<number> {
  const deletion = DELETE_OLD.get(retention);
  if (!deletion) throw new Error(`no statement deletes old ${retention.name}`);
  return (await db.query(deletion, [before, limit])).length;
}

// The counter of a key stays, because it tells when the key was last used.
const DELETE_COUNTERS = statement(
  'retention.counters',
  `delete from rate_counter
   where bucket in (
     select bucket
     from rate_counter
     where minute < $1 and bucket not like 'key:%'
     limit $2
     for update skip locked
   )
   returning 1`,
);

/** Deletes at most `limit` old rate counters of teams and addresses, and returns how many. */
export async function deleteOldCounters(db: Db, now: Date, limit: number): Promise<number> {
  const minute = Math.floor(now.getTime() / 60_000) - RATE_COUNTER_KEEP_MINUTES;
  return (await db.query(DELETE_COUNTERS, [minute, limit])).length;
}
