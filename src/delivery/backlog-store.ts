import { SANDBOX_END } from '../core/sandbox.ts';
import { statement, type Db } from '../db/client.ts';
import { findOldestDue, type EndpointRef } from './waiting-store.ts';

/** What waits for the workers, over all live teams: a sandbox must alarm nobody. */
export interface Backlog {
  /** Age of the oldest event without deliveries, in seconds; 0 without one. */
  readonly fanOutLagS: number;
  /** The jobs that are due and that nobody runs, by task. */
  readonly jobs: readonly WaitingJobs[];
  /** Webhook endpoints that were paused after failures. */
  readonly pausedEndpoints: number;
  /**
   * When the earliest unclaimed delivery is due, past or future; null when none waits. Endpoints at
   * their own limit do not count.
   */
  readonly oldestDueAt: string | null;
}

const OF_SANDBOX = `%${SANDBOX_END}`;

/** Jobs of one task that are due and that nobody runs. */
export interface WaitingJobs {
  readonly task: string;
  readonly count: number;
  /** How long the one that has been due longest has waited, in seconds. */
  readonly oldest_s: number;
}

/** A job that has failed for the last time stays, and waits for nothing. */
export const WAITING_JOBS = statement<WaitingJobs>(
  'metrics.jobs',
  `select k.identifier as task, count(*)::int as count,
     extract(epoch from now() - min(j.run_at))::float8 as oldest_s
   from graphile_worker._private_jobs j
   join graphile_worker._private_tasks k on k.id = j.task_id
   where j.run_at <= now()
     and j.locked_at is null
     and j.attempts < j.max_attempts
     and coalesce(j.payload ->> 'teamId', '') not like '${OF_SANDBOX}'
   group by k.identifier`,
);

/** Jobs that are not handed to the job runner yet. */
const PENDING_JOBS = statement<Omit<WaitingJobs, 'oldest_s'>>(
  'metrics.pendingJobs',
  `select task, count(*)::int as count
   from pending_job
   where team_id not like '${OF_SANDBOX}'
   group by task`,
);

// Read at each scrape. Due jobs are few, and so are webhook endpoints.
const COUNT = statement<{
  readonly fan_out_lag_s: number;
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
       from webhook_endpoint
       where status = 'disabled_failures' and team_id not like '${OF_SANDBOX}'
     ) as paused`,
);

/**
 * Reads the figures for the metrics of a worker. Opens a transaction, to have a connection of its
 * own: with 100,000 endpoints it takes most of a second. `shards` are those of a distributed
 * database, which are asked one by one for what is due. `atLimit` are the endpoints whose own limit
 * holds their deliveries back in this worker.
 */
export async function readBacklog(
  db: Db,
  shards: readonly Db[] = [],
  atLimit: readonly EndpointRef[] = [],
): Promise<Backlog> {
  const [[counts], due, pending, oldestDueAt] = await db.transaction((tx) =>
    Promise.all([
      tx.query(COUNT, []),
      tx.query(WAITING_JOBS, []),
      tx.query(PENDING_JOBS, []),
      shards.length === 0 ? findOldestDue(tx, atLimit) : findOldestDueOf(shards, atLimit),
    ]),
  );
  if (!counts) throw new Error('metrics.backlog returned no row');
  return {
    // Negative if the clock that dated the event is ahead of the database's.
    fanOutLagS: Math.max(0, counts.fan_out_lag_s),
    jobs: addUp([...due, ...pending.map((jobs) => ({ ...jobs, oldest_s: 0 }))]),
    pausedEndpoints: counts.paused,
    oldestDueAt,
  };
}

/** One entry for each task. */
function addUp(waiting: readonly WaitingJobs[]): WaitingJobs[] {
  return [...Map.groupBy(waiting, ({ task }) => task)].map(([task, jobs]) => ({
    task,
    count: jobs.reduce((sum, { count }) => sum + count, 0),
    oldest_s: Math.max(...jobs.map(({ oldest_s }) => oldest_s)),
  }));
}

/** A shard whose node does not answer says nothing: the other figures are worth having. */
async function findOldestDueOf(
  shards: readonly Db[],
  atLimit: readonly EndpointRef[],
): Promise<string | null> {
  const found = await Promise.all(
    shards.map((shard) => findOldestDue(shard, atLimit).catch(() => null)),
  );
  return found.filter((at) => at !== null).toSorted()[0] ?? null;
}
