import { madeAtMs } from '../core/ids.ts';
import { SANDBOX_END } from '../core/sandbox.ts';
import { statement, type Db, type Statement } from '../db/client.ts';
import { findOldestDue, WAITING, type EndpointRef } from './waiting-store.ts';

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
  /** How many deliveries wait for their next attempt, by their age. */
  readonly retries: Readonly<Record<RetryAge, number>>;
}

/** How long ago a delivery that waits for its next attempt was made. */
export type RetryAge = 'under_1h' | 'under_6h' | 'under_1d' | 'older';

const OF_SANDBOX = `%${SANDBOX_END}`;

/** Jobs of one task that are due and that nobody runs. */
export interface WaitingJobs {
  readonly task: string;
  readonly count: number;
  /** How long the one that has been due longest has waited, in seconds. */
  readonly oldest_s: number;
}

/** A job that has failed for the last time stays, and waits for nothing. */
const WAITING_JOBS = statement<WaitingJobs>(
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

interface PendingJobs extends Omit<WaitingJobs, 'oldest_s'> {
  /** The job that has waited for longest: ids sort by the time at which they were made. */
  readonly oldest_id: string;
}

/** Jobs that are not handed to the job runner yet, or that it refuses. */
const PENDING_JOBS = statement<PendingJobs>(
  'metrics.pendingJobs',
  `select task, count(*)::int as count,
     min(id) as oldest_id
   from pending_job
   where team_id not like '${OF_SANDBOX}'
   group by task`,
);

/** Reads the jobs that wait, by task. They wait for a worker to take them, and then for a slot. */
export async function readWaitingJobs(
  query: <Row>(statement: Statement<Row>) => Promise<Row[]>,
): Promise<WaitingJobs[]> {
  // One after the other: the doctor's connection takes one statement at a time.
  const due = await query(WAITING_JOBS);
  const pending = await query(PENDING_JOBS);
  const now = Date.now();
  const waiting = pending.map(({ oldest_id, ...jobs }) => ({
    ...jobs,
    oldest_s: Math.max(0, (now - (madeAtMs(oldest_id) ?? now)) / 1000),
  }));
  return addUp([...due, ...waiting]);
}

interface Counts {
  readonly fan_out_lag_s: number;
  readonly paused: number;
}

// Read at each scrape. Each part has an index of such rows only.
/** Reads how long events have waited for their deliveries, and how many endpoints are paused. */
export const readCounts = statement<Counts>(
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
).lists<[db: Pick<Db, 'query'>]>();

/** The most deliveries that are counted in each range of times until the next attempt. */
export const RETRIES_MAX = 500;

interface CountedRetries {
  readonly age: RetryAge;
  readonly count: number;
}

/**
 * The next delivery of a live team that waits for its next attempt, by its time. All of it is SQL.
 * An index holds these rows only.
 */
const nextRetry = (condition: string): string => `(
       select due_at, id, team_id, created_at
       from webhook_delivery
       where ${WAITING.retrying.isWaiting}
         and team_id not like '${OF_SANDBOX}'
         and ${condition}
       order by due_at, id
       limit 1
     ) next`;

/**
 * Counts the deliveries that wait for their next attempt, up to a limit. Old deliveries wait longer
 * for it, so each range shows others, and a flood of new ones hides no old ones. Those that are
 * overdue are those of paused endpoints, or show in `oldestDueAt`. It steps through the index: with
 * a limit alone, Postgres may choose to read and sort all of a range.
 */
export const countRetries = statement<CountedRetries>(
  'metrics.retries',
  `with recursive range (after, until) as (
     values
       (now(), now() + interval '10 minutes'),
       (now() + interval '10 minutes', now() + interval '1 hour'),
       (now() + interval '1 hour', now() + interval '8 hours'),
       (now() + interval '8 hours', 'infinity')
   ),
   retry as (
     select range.until, 1 as place, next.*
     from range
     cross join lateral ${nextRetry('due_at > range.after')}
     where next.due_at <= range.until
     union all
     select retry.until, retry.place + 1, next.*
     from retry
     cross join lateral ${nextRetry('(due_at, id) > (retry.due_at, retry.id)')}
     where retry.place < ${RETRIES_MAX} and next.due_at <= retry.until
   )
   select
     case
       when created_at > now() - interval '1 hour' then 'under_1h'
       when created_at > now() - interval '6 hours' then 'under_6h'
       when created_at > now() - interval '1 day' then 'under_1d'
       else 'older'
     end as age,
     count(*)::int as count
   from retry
   group by age`,
).lists<[db: Pick<Db, 'query'>]>();

/**
 * Reads the figures for the metrics of a worker. Opens a transaction, to have a connection of its
 * own: with 100,000 endpoints it takes most of a second. `shards` are those of a distributed
 * database, which are asked one by one for what is due, and for retries. `atLimit` are the
 * endpoints whose own limit holds their deliveries back in this worker.
 */
export async function readBacklog(
  db: Db,
  shards: readonly Db[] = [],
  atLimit: readonly EndpointRef[] = [],
): Promise<Backlog> {
  const [[counts], jobs, oldestDueAt, retries] = await db.transaction((tx) =>
    Promise.all([
      readCounts(tx),
      readWaitingJobs((one) => tx.query(one, [])),
      shards.length === 0 ? findOldestDue(tx, atLimit) : findOldestDueOf(shards, atLimit),
      shards.length === 0 ? countRetries(tx) : findRetriesOf(shards),
    ]),
  );
  if (!counts) throw new Error('metrics.backlog returned no row');
  return {
    // Negative if the clock that dated the event is ahead of the database's.
    fanOutLagS: Math.max(0, counts.fan_out_lag_s),
    jobs,
    pausedEndpoints: counts.paused,
    oldestDueAt,
    retries: addUpAges(retries),
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

function addUpAges(counts: readonly CountedRetries[]): Backlog['retries'] {
  const sums = { under_1h: 0, under_6h: 0, under_1d: 0, older: 0 };
  for (const { age, count } of counts) sums[age] += count;
  return sums;
}

async function findRetriesOf(shards: readonly Db[]): Promise<CountedRetries[]> {
  const found = await Promise.all(shards.map((shard) => countRetries(shard).catch(() => [])));
  return found.flat();
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
