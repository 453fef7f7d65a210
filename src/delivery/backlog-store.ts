import { SANDBOX_END } from '../core/sandbox.ts';
import { statement, type Db } from '../db/client.ts';
import { findOldestDue } from './waiting-store.ts';

/** What waits for the workers, over all live teams: a sandbox must alarm nobody. */
export interface Backlog {
  /** Age of the oldest event without deliveries, in seconds; 0 without one. */
  readonly fanOutLagS: number;
  /** Jobs that are due. */
  readonly jobs: number;
  /** Webhook endpoints that were paused after failures. */
  readonly pausedEndpoints: number;
  /** When the earliest unclaimed delivery is due, past or future; null when none waits. */
  readonly oldestDueAt: string | null;
}

const OF_SANDBOX = `%${SANDBOX_END}`;

// Read at each scrape. Due jobs are few, and so are webhook endpoints.
const COUNT = statement<{
  readonly fan_out_lag_s: number;
  readonly jobs: number;
  readonly paused: number;
}>(
  'metrics.backlog',
  `select
     coalesce(
       extract(epoch from now() - (
         select created_at
         from event
         where fanned_out_at is null and team_id not like '${OF_SANDBOX}'
         order by created_at
         limit 1
       )),
       0
     )::float8 as fan_out_lag_s,
     (
       select count(*)::int
       from graphile_worker._private_jobs
       where run_at <= now() and coalesce(payload ->> 'teamId', '') not like '${OF_SANDBOX}'
     ) + (
       select count(*)::int
       from pending_job
       where team_id not like '${OF_SANDBOX}'
     ) as jobs,
     (
       select count(*)::int
       from webhook_endpoint
       where status = 'disabled_failures' and team_id not like '${OF_SANDBOX}'
     ) as paused`,
);

/**
 * Reads the figures for the metrics of a worker. Opens a transaction, to have a connection of its
 * own: with 100,000 endpoints it takes most of a second. `shards` are those of a distributed
 * database, which are asked one by one for what is due.
 */
export async function readBacklog(db: Db, shards: readonly Db[] = []): Promise<Backlog> {
  const [[counts], oldestDueAt] = await db.transaction((tx) =>
    Promise.all([
      tx.query(COUNT, []),
      shards.length === 0 ? findOldestDue(tx) : findOldestDueOf(shards),
    ]),
  );
  if (!counts) throw new Error('metrics.backlog returned no row');
  return {
    // Negative if the clock that dated the event is ahead of the database's.
    fanOutLagS: Math.max(0, counts.fan_out_lag_s),
    jobs: counts.jobs,
    pausedEndpoints: counts.paused,
    oldestDueAt,
  };
}

/** A shard whose node does not answer says nothing: the other figures are worth having. */
async function findOldestDueOf(shards: readonly Db[]): Promise<string | null> {
  const found = await Promise.all(shards.map((shard) => findOldestDue(shard).catch(() => null)));
  return found.filter((at) => at !== null).toSorted()[0] ?? null;
}
