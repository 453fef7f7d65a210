import { statement, type Db } from '../../db/client.ts';
import { RATE_COUNTER_KEEP_MINUTES, type Retention } from './rules.ts';

/**
 * Deletes at most `limit` rows of a kind that are older than `before`; answers with how many. Over all teams: it is the operator's job, not a tenant's request.
 * Rows that somebody holds are left for the next time.
 */
export async function deleteOld(
  db: Db,
  { name, table, key, condition }: Retention,
  before: Date,
  limit: number,
): Promise<number> {
  const text = `with old as (select ${key} from ${table} where ${condition} limit $2 for update skip locked)
    delete from ${table} where (${key}) in (select ${key} from old) returning 1`;
  return (await db.query(statement(`retention.${name}`, text), [before, limit])).length;
}

const DELETE_COUNTERS = statement(
  'retention.counters',
  `delete from rate_counter where bucket in (select bucket from rate_counter where minute < $1 and bucket not like 'key:%' limit $2 for update skip locked) returning 1`,
);

export async function deleteOldCounters(db: Db, now: Date, limit: number): Promise<number> {
  return (await db.query(DELETE_COUNTERS, [Math.floor(now.getTime() / 60_000) - RATE_COUNTER_KEEP_MINUTES, limit]))
    .length;
}
