import type { DeliveryError } from '../core/delivery-errors.ts';
import { teamKey } from '../core/team-key.ts';
import { statement, type Db, type Tx } from '../db/client.ts';
import { withFailedAttempt, type KeptAttempt } from '../db/kept-attempts.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';

/** Turns rows into one array for each column, in the order of `names`, for an `unnest`. */
export function columnsOf<Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Row[Name][][] {
  return names.map((name) => rows.map((row) => row[name]));
}

/**
 * Lets the transaction commit without waiting for the disk. A crash of the database can then lose a
 * fan-out or a result. It is made again, and a delivery may be sent twice, which receivers expect.
 * Waiting for the disk at every commit would cost more than that.
 */
export const NO_WAIT_FOR_DISK = statement(
  'webhooks.noWaitForDisk',
  'set local synchronous_commit = off',
);

/** A delivery as it is after an attempt, and how that attempt ended. */
export interface RecordedAttempt {
  readonly teamId: string;
  readonly id: string;
  readonly endpointId: string;
  /** Whether it was a `ping`: tests do not count for the endpoint's health. */
  readonly isTest: boolean;
  readonly status: DeliveryStatus;
  readonly attempt: number;
  readonly scheduledAttempts: number;
  readonly nextTryAt: Date | null;
  /** Whether the delivery was urgent when this attempt began. */
  readonly wasUrgent: boolean;
  /** Whether a resend had asked for this attempt. */
  readonly wasResent: boolean;
  readonly at: Date;
  readonly responseCode: number | null;
  readonly responseExcerpt: string | null;
  readonly responseMs: number;
  readonly error: DeliveryError | null;
}

const RECORD_COLUMNS = [
  'teamId',
  'id',
  'status',
  'attempt',
  'scheduledAttempts',
  'nextTryAt',
  'wasUrgent',
  'wasResent',
  'at',
  'responseCode',
  'responseExcerpt',
  'responseMs',
  'error',
] as const satisfies readonly (keyof RecordedAttempt)[];

/** SQL: a resend was asked for during this attempt, which has failed. */
const IS_RESENT_AGAIN = `d.resent and not n.was_resent and n.status <> 'ok'`;

// Updates only rows that this worker still holds at this attempt. A row that was deleted, or that
// another worker has claimed since, stays as it is.
const RECORD = statement(
  'webhooks.record',
  `update webhook_delivery d
   set status = case when ${IS_RESENT_AGAIN} then d.status else n.status end,
     attempt = n.attempt,
     scheduled_attempts = n.scheduled_attempts,
     next_try_at = case when ${IS_RESENT_AGAIN} then n.at else n.next_try_at end,
     urgent = d.urgent and not n.was_urgent and n.status <> 'ok',
     resent = ${IS_RESENT_AGAIN},
     last_attempt_at = n.at,
     response_code = n.response_code,
     response_excerpt = n.response_excerpt,
     response_ms = n.response_ms,
     error = n.error,
     failed_attempts = case
       when n.failure is null then d.failed_attempts
       else ${withFailedAttempt('d.failed_attempts', 'n.failure')}
     end,
     claimed_by = null
   from unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::timestamptz[],
       $8::boolean[], $9::boolean[], $10::timestamptz[], $11::int[], $12::text[], $13::int[],
       $14::text[], $15::jsonb[])
     as n (team_id, id, status, attempt, scheduled_attempts, next_try_at, was_urgent,
       was_resent, at, response_code, response_excerpt, response_ms, error, failure)
   where d.team_id = n.team_id
     and d.id = n.id
     and d.claimed_by = $1
     and d.attempt = n.attempt - 1`,
);

/** The attempt as its delivery keeps it; null if it succeeded: then the row has all of it. */
function failureOf(result: RecordedAttempt): string | null {
  const { status, attempt, at, responseCode, responseMs, error } = result;
  if (status === 'ok') return null;
  const failed: KeptAttempt = {
    attempt,
    ended_at: at.toISOString(),
    response_code: responseCode,
    response_ms: responseMs,
    error,
  };
  return JSON.stringify(failed);
}

const OUTCOME_COLUMNS = [
  'teamId',
  'endpointId',
  'at',
  'status',
] as const satisfies readonly (keyof RecordedAttempt)[];

/** About 41 days of hours. Of more, the first and the newest are kept. */
const HOURS_MAX = 1_000;

const hourOf = (at: string): string => `date_trunc('hour', ${at}, 'UTC')`;

// Results are written in any order, so this is a merge by the time of the attempts. A failure
// counts if it is newer than the last success, and of each hour (UTC) the first such one is kept,
// so a success that is written late leaves the failures of later hours. Those of its own hour may
// be known no more: then the next failure begins the time anew, which is late and never early.
// `activated_at` ends whatever failed before. A row is updated only when something is added: for a
// failing endpoint once an hour, for a busy one once a second. Locks in the order of the keys: two
// workers that report on the same endpoints wait for each other instead of deadlocking.
const RECORD_ENDPOINTS = statement(
  'webhooks.recordEndpoints',
  `update webhook_endpoint w
   set last_success_at = n.last_success_at,
     hourly_failures = n.failures,
     failing_since = n.failures[1]
   from (
     select n.team_id, n.endpoint_id, success.at as last_success_at, failed.failures
     from (
       select team_id, endpoint_id, max(at) filter (where status = 'ok') as success_at,
         array_agg(at) filter (where status <> 'ok') as failures
       from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[])
         as n (team_id, endpoint_id, at, status)
       group by team_id, endpoint_id
     ) n
     join webhook_endpoint w on w.team_id = n.team_id and w.id = n.endpoint_id
     cross join lateral (select greatest(w.last_success_at, n.success_at) as at) success
     cross join lateral (
       select case
         when n.failures is null and w.failing_since is null then '{}'
         else (
           select hours[:1] || hours[greatest(2, cardinality(hours) - ${HOURS_MAX - 2}):]
           from (
             select coalesce(array_agg(at order by at), '{}') as hours
             from (
               select min(at) as at
               from unnest(w.hourly_failures || n.failures) as failure (at)
               where at > coalesce(success.at, '-infinity')
                 and at >= coalesce(w.activated_at, '-infinity')
               group by ${hourOf('at')}
             ) by_hour
           ) by_time
         )
       end as failures
     ) failed
     where (failed.failures <> w.hourly_failures
       or failed.failures[1] is distinct from w.failing_since
       or w.last_success_at is null and success.at is not null
       or w.last_success_at < success.at - interval '1 second')
     order by n.team_id, n.endpoint_id
     for no key update of w
   ) n
   where w.team_id = n.team_id and w.id = n.endpoint_id`,
);

/** How long a batch waits for the rows that somebody has locked. Most locks take a few ms. */
const LOCKS_WAIT_MS = 100;

const WAIT_FOR_NOBODY = statement(
  'webhooks.waitForNobody',
  `set local lock_timeout = ${LOCKS_WAIT_MS}`,
);

/** SQL: somebody else has locked this row. Otherwise this transaction has, unless it is gone. */
const isLocked = (table: 'webhook_endpoint' | 'webhook_delivery', id: string): string => {
  const row = `select
       from ${table}
       where team_id = n.team_id and id = ${id}`;
  return `exists (
       ${row}
       limit 1
     )
     and not exists (
       ${row}
       limit 1
       for no key update skip locked
     )`;
};

const FIND_LOCKED = statement<{ readonly team_id: string; readonly id: string }>(
  'webhooks.findLocked',
  `select n.team_id, n.id
   from unnest($1::text[], $2::text[], $3::text[]) as n (team_id, endpoint_id, id)
   where ${isLocked('webhook_endpoint', 'n.endpoint_id')}
     or ${isLocked('webhook_delivery', 'n.id')}`,
);

/**
 * Writes a batch of results and what they say about their endpoints. A batch has results of many
 * teams, and none of them may wait for one: if somebody has locked a row of it for LOCKS_WAIT_MS,
 * nothing is written (`isLockTimeout`). With `skipsLocked` the others are written at once. Returns
 * the results that it left out. Opens a transaction.
 */
export async function recordAttempts(
  db: Db,
  worker: number,
  attempts: readonly RecordedAttempt[],
  { skipsLocked }: { readonly skipsLocked: boolean },
): Promise<readonly RecordedAttempt[]> {
  return db.transaction(async (tx) => {
    tx.send(NO_WAIT_FOR_DISK, []);
    tx.send(WAIT_FOR_NOBODY, []);
    const locked = skipsLocked ? await findLocked(tx, attempts) : new Set<RecordedAttempt>();
    const free = attempts.filter((attempt) => !locked.has(attempt));
    if (free.length === 0) return attempts;
    tx.send(RECORD, [worker, ...columnsOf(free, RECORD_COLUMNS), free.map(failureOf)]);
    const outcomes = free.filter(({ isTest }) => !isTest);
    if (outcomes.length > 0) tx.send(RECORD_ENDPOINTS, columnsOf(outcomes, OUTCOME_COLUMNS));
    return [...locked];
  });
}

/** Returns the results whose rows somebody has locked, and locks those of the others. */
async function findLocked(
  tx: Tx,
  attempts: readonly RecordedAttempt[],
): Promise<ReadonlySet<RecordedAttempt>> {
  const rows = await tx.query(FIND_LOCKED, columnsOf(attempts, ['teamId', 'endpointId', 'id']));
  const keys = new Set(rows.map(({ team_id, id }) => teamKey(team_id, id)));
  return new Set(attempts.filter(({ teamId, id }) => keys.has(teamKey(teamId, id))));
}
