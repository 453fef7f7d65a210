import type { PagePosition } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { runAtText, waitValues, type JobWait } from '../../db/job-wait.ts';
import { columnsOf, listed, selectionOf, type RowOf } from '../../db/rows.ts';
import { PINGS_PASSED_MAX, type RESEND_STATES } from './rules.ts';

const FIELDS = columnsOf('WebhookResend', 'team_id');
const COLUMNS = listed(FIELDS);
const RESEND = selectionOf('WebhookResend', FIELDS);
const PROGRESS = selectionOf('WebhookResend', [
  'state',
  'sent',
  'position_at',
  'position_id',
  'finished_at',
]);

/**
 * A bulk resend and its progress. `until` null: until the resend began; `event_type` null: of every
 * type; `status` null: of both that a failed delivery can have. The position is the last delivery
 * that was looked at.
 */
export interface ResendRow extends RowOf<'WebhookResend', (typeof FIELDS)[number]> {
  readonly state: (typeof RESEND_STATES)[number];
}

/** SQL: the endpoint of `webhook_resend r` was not deleted. `offset 0`: it is no join. */
const HAS_ENDPOINT = `exists (
       select
       from webhook_endpoint w
       where w.team_id = $1 and w.id = r.endpoint_id
       offset 0
     )`;

/**
 * SQL: a failed delivery that can be resent. A ping cannot: a new test shows the same. No index
 * leaves pings out, and there may be very many. So it is asked of a bounded number of rows.
 */
const IS_NO_PING = `event_type <> 'ping'`;

// A batch locks the same row. This mode does not block new deliveries.
const LOCK_FOR_START = statement(
  'webhooks.resend.lockForStart',
  `select
   from webhook_endpoint
   where team_id = $1 and id = coalesce($2, id)
   order by id
   for no key update`,
);

/** What a start depends on. */
export interface StartFacts {
  readonly endpoint_id: string;
  readonly status: string;
  readonly is_running: boolean;
}

/** Reads what a start depends on, of one endpoint or of all (null). */
export const findStartFacts = statement<StartFacts>(
  'webhooks.resend.facts',
  `select w.id as endpoint_id, w.status,
     exists (
       select
       from webhook_resend
       where team_id = $1 and endpoint_id = w.id and state = 'running'
     ) as is_running
   from webhook_endpoint w
   where w.team_id = $1 and w.id = coalesce($2, w.id)
   order by w.id`,
).lists<[db: Db | Tx, teamId: string, endpointId: string | null]>();

/** Locks the endpoints against other starts, and does the same as `findStartFacts`. */
export function readStartFacts(
  tx: Tx,
  teamId: string,
  endpointId: string | null,
): Promise<StartFacts[]> {
  tx.send(LOCK_FOR_START, [teamId, endpointId]);
  return findStartFacts(tx, teamId, endpointId);
}

interface FailedRow {
  readonly endpoint_id: string;
  readonly failed: number;
  /** Whether there were more failed deliveries, or tests, than it has looked at. */
  readonly has_more: boolean;
}

// Each of these is two statements: for failed deliveries of any type, and for those of one. One
// statement for both would have one plan, which suits neither.

// No index has the status of failed deliveries, because every attempt would have to update it. So
// it is looked for among those that the count may read. Of these, no more are read than it takes to
// find so many.
const countFailedText = (isOfType: string): string => `
   select w.id as endpoint_id, least(counted.failed, $6::int - 1) as failed,
     counted.looked_at >= $6 or counted.is_cut as has_more
   from webhook_endpoint w
   cross join lateral (
     select (count(*) filter (where ${IS_NO_PING}))::int as looked_at,
       (count(*) filter (where ${IS_NO_PING} and status = coalesce($7, status)))::int as failed,
       coalesce(bool_or(place = $6 + ${PINGS_PASSED_MAX}), false) as is_cut
     from (
       select status, event_type, place
       from (
         select status, event_type, row_number() over (order by created_at, id) as place
         from (
           select status, event_type, created_at, id
           from webhook_delivery
           where team_id = $1 and endpoint_id = w.id and has_failed
             and created_at >= $3 and created_at <= $4
             and created_at < coalesce($5::timestamptz, 'infinity')
             ${isOfType}
           order by created_at, id
           limit $6::int + ${PINGS_PASSED_MAX}
         ) passed
       ) numbered
       where ${IS_NO_PING} or place = $6 + ${PINGS_PASSED_MAX}
       limit $6
     ) found
   ) counted
   where w.team_id = $1 and w.id = coalesce($2, w.id)
   order by w.id`;

const COUNT_FAILED = {
  any: statement<FailedRow>('webhooks.resend.countFailed', countFailedText('')),
  one: statement<FailedRow>(
    'webhooks.resend.countFailedOfType',
    countFailedText('and event_type = $8'),
  ),
};

/** Which deliveries a resend is about. */
export interface Wanted {
  /** null: of every endpoint. */
  readonly endpointId: string | null;
  readonly since: string;
  readonly until: string | null;
  readonly eventType: string | null;
  /** null: of both statuses that a failed delivery can have. */
  readonly status: string | null;
  readonly at: Date;
  readonly countMax: number;
}

/** How many failed deliveries an endpoint has, of those that were looked at. */
export interface Counted {
  readonly failed: number;
  readonly hasMore: boolean;
}

/**
 * Counts the failed deliveries of each endpoint. It looks at `countMax` of them and one more, which
 * tells whether there are more; behind too many pings it ends before. Those of 50 endpoints take a
 * second, so hold no lock meanwhile.
 */
export async function countFailed(
  db: Db,
  teamId: string,
  { endpointId, since, until, eventType, status, at, countMax }: Wanted,
): Promise<ReadonlyMap<string, Counted>> {
  const values = [teamId, endpointId, since, at, until, countMax + 1, status];
  const rows = await (eventType === null
    ? db.query(COUNT_FAILED.any, values)
    : db.query(COUNT_FAILED.one, [...values, eventType]));
  return new Map(
    rows.map(({ endpoint_id, failed, has_more: hasMore }) => [endpoint_id, { failed, hasMore }]),
  );
}

/** Inserts resends that have sent nothing yet. */
export async function insertResends(
  tx: Tx,
  teamId: string,
  rows: readonly ResendRow[],
): Promise<void> {
  await tx.prisma.webhookResend.createMany({
    data: rows.map((row) => ({ teamId, ...RESEND.toData(row) })),
  });
}

/** The resend, or null. */
export const findResend = statement<ResendRow>(
  'webhooks.resend.find',
  `select ${COLUMNS}
   from webhook_resend r
   where team_id = $1 and id = $2
     and ${HAS_ENDPOINT}`,
).finds<[db: Db, teamId: string, resendId: string]>();

// The ids are in the order of their creation. A resend that finds nothing has ended at once, so a
// team may have very many.
/** Lists the last 50 resends, newest first. */
export const listResends = statement<ResendRow>(
  'webhooks.resend.list',
  `select ${COLUMNS}
   from webhook_resend r
   where team_id = $1
     and ${HAS_ENDPOINT}
   order by id desc
   limit 50`,
  { inOrder: true },
).lists<[db: Db, teamId: string]>();

/** The resend, or null. Locks it until the transaction ends. */
export const findResendForUpdate = statement<ResendRow>(
  'webhooks.resend.findForUpdate',
  `select ${COLUMNS}
   from webhook_resend r
   where team_id = $1 and id = $2
     and ${HAS_ENDPOINT}
   for no key update`,
).finds<[tx: Tx, teamId: string, resendId: string]>();

// Locks the endpoint before its deliveries, as whoever deletes or replaces them does, or the two
// could deadlock. Results of its deliveries do not wait for a batch: they come later.
const LOCK_FOR_BATCH = statement<{ status: string }>(
  'webhooks.resend.lockForBatch',
  `select status
   from webhook_endpoint
   where team_id = $1 and id = $2
   for no key update`,
);

/**
 * Locks the endpoint until the transaction ends, so that no other start or batch runs. Returns its
 * status, or null if it was deleted.
 */
export async function lockEndpoint(
  tx: Tx,
  teamId: string,
  endpointId: string,
): Promise<string | null> {
  const [row] = await tx.query(LOCK_FOR_BATCH, [teamId, endpointId]);
  return row?.status ?? null;
}

const COUNT_DUE = statement<{ due: number }>(
  'webhooks.resend.countDue',
  `select count(*)::int as due
   from (
     select
     from webhook_delivery
     where team_id = $1 and endpoint_id = $2
       and waits_as = 'retrying' and due_at <= $3
     limit $4
   ) waiting`,
);

/** Counts the retries that are due and not claimed, up to `countMax`. */
export async function countDue(
  tx: Tx,
  teamId: string,
  { endpointId, now, countMax }: { endpointId: string; now: Date; countMax: number },
): Promise<number> {
  const [row] = await tx.query(COUNT_DUE, [teamId, endpointId, now, countMax]);
  return row?.due ?? 0;
}

// Marks the deliveries and makes them due; only the result of an attempt counts it. So it does not
// matter how often a delivery is marked. One that a worker has claimed is attempted once more after
// that attempt: its result leaves what was marked meanwhile. One that is urgent already stays as it
// is. Rows that changed while the statement waited for their locks are left out, and others take
// their places in `scanned`. However few more may be queued, it looks at a whole batch: those that
// are wanted may be rare.
const queueText = (isOfType: string): string => `
   with scanned as materialized (
     select created_at, id, status, event_type
     from webhook_delivery
     where team_id = $1 and endpoint_id = $2 and has_failed
       and (created_at, id) > (coalesce($3::timestamptz, '-infinity'), $4)
       and created_at >= $5 and created_at <= $6
       and created_at < coalesce($9::timestamptz, 'infinity')
       ${isOfType}
     order by created_at, id
     limit $7
     for no key update
   ), picked as materialized (
     select created_at, id
     from scanned
     where ${IS_NO_PING} and status = coalesce($10, status)
     order by created_at, id
     limit $11
   ), queued as (
     update webhook_delivery d
     set status = 'retrying', next_try_at = $8, resent = true
     from picked
     where d.team_id = $1 and d.id = picked.id and not d.urgent
   )
   select (select count(*) from picked)::int as count, created_at as at, id
   from scanned
   where (select count(*) from picked) < $11
     or (created_at, id) <= (
       select created_at, id
       from picked
       order by created_at desc, id desc
       limit 1
     )
   order by created_at desc, id desc
   limit 1`;

interface QueuedRow {
  readonly count: number;
  readonly at: string | null;
  readonly id: string | null;
}

const QUEUE_BATCH = {
  any: statement<QueuedRow>('webhooks.resend.queue', queueText('')),
  one: statement<QueuedRow>('webhooks.resend.queueOfType', queueText('and event_type = $12')),
};

/** How much one batch does. */
interface BatchSize {
  /** How many deliveries it looks at. */
  readonly limit: number;
  /** How many it queues at most. */
  readonly room: number;
}

/**
 * Looks at the next failed deliveries, and makes those due that are wanted. Returns how many these
 * were, and the position up to which it has come; null: there was none. Needs `lockEndpoint`.
 */
export async function queueBatch(
  tx: Tx,
  teamId: string,
  { resend, limit, room, now }: BatchSize & { readonly resend: ResendRow; readonly now: Date },
): Promise<{ count: number; last: PagePosition | null }> {
  const { endpoint_id, position_at, position_id, since, until, created_at } = resend;
  const { event_type, status } = resend;
  const values = [
    teamId,
    endpoint_id,
    position_at,
    position_id ?? '',
    since,
    created_at,
    limit,
    now,
    until,
    status,
    room,
  ];
  const [row] =
    event_type === null
      ? await tx.query(QUEUE_BATCH.any, values)
      : await tx.query(QUEUE_BATCH.one, [...values, event_type]);
  if (!row?.at || !row.id) return { count: 0, last: null };
  return { count: row.count, last: { at: row.at, id: row.id } };
}

/** Writes the state and the position of a resend. */
export async function updateResend(tx: Tx, teamId: string, row: ResendRow): Promise<void> {
  await tx.prisma.webhookResend.updateMany({
    where: { teamId, id: row.id },
    data: PROGRESS.toData(row),
  });
}

// The key is free although the job that adds this one still runs under it: graphile-worker takes
// the key from the running job, and does not try that job again.
const ADD_JOB = statement(
  'webhooks.resend.addJob',
  `select graphile_worker.add_job(
     identifier => $1,
     payload => $2,
     job_key => $3,
     run_at => ${runAtText('$4', '$5')},
     max_attempts => 25)`,
);

/** Adds the job of the next batch in the transaction that wrote this batch. */
export function addJob(
  tx: Tx,
  job: { readonly task: string; readonly payload: object; readonly key: string },
  wait: JobWait,
): void {
  const { task, payload, key } = job;
  tx.send(ADD_JOB, [task, JSON.stringify(payload), key, ...waitValues(wait)]);
}
