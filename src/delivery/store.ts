import { statement, type Db, type Tx } from '../db/client.ts';
import type { DeliveryStatus } from './schedule.ts';

/** What waits: first attempts, and later ones. */
export const KINDS = ['pending', 'retrying'] as const;
export type Kind = (typeof KINDS)[number];

/** A delivery that this worker has in hand, with all that an attempt needs. */
export interface ClaimedRow {
  readonly team_id: string;
  readonly id: string;
  readonly endpoint_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: DeliveryStatus;
  readonly attempt: number;
  readonly extra_attempts: number;
  readonly next_try_at: string | null;
  readonly urgent: boolean;
  readonly url: string;
  readonly api_version: string;
  readonly secret_encrypted: Buffer;
  readonly event_data: string;
  readonly event_created_at: string;
}

/** An endpoint with something to do. */
export interface EndpointRef {
  readonly team_id: string;
  readonly endpoint_id: string;
}

// Fan-out -------------------------------------------------------------------------------------------------------------

export interface FanOutRow {
  readonly team_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly event_data: string;
  readonly event_created_at: string;
  /** null: nobody subscribed. */
  readonly endpoint_id: string | null;
  readonly url: string;
  readonly api_version: string;
  readonly secret_encrypted: Buffer;
}

// `offset 0` keeps the planner from turning the look at one team's endpoints into a hash of everybody's.
function takeEventsText(order: 'asc' | 'desc'): string {
  return `select e.team_id, e.id as event_id, e.type as event_type, e.data::text as event_data, e.created_at as event_created_at,
     w.id as endpoint_id, w.url, w.api_version, w.secret_encrypted
   from (select * from event where fanned_out_at is null order by created_at ${order} limit $1 for update skip locked) e
   left join lateral (select * from webhook_endpoint where team_id = e.team_id and status = 'active' and e.type = any (events) offset 0) w on true
   order by e.created_at, e.id`;
}

const TAKE_EVENTS = {
  oldest: statement<FanOutRow>('webhooks.takeOldestEvents', takeEventsText('asc')),
  newest: statement<FanOutRow>('webhooks.takeNewestEvents', takeEventsText('desc')),
};

/** Events that wait for their fan-out, one row for each active subscriber; no other worker takes them until the transaction ends. */
export function takeEvents(tx: Tx, which: 'oldest' | 'newest', limit: number): Promise<FanOutRow[]> {
  return tx.query(TAKE_EVENTS[which], [limit]);
}

export interface NewDelivery {
  readonly teamId: string;
  readonly id: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly claimed: boolean;
}

// The join leaves out endpoints that were deleted a moment ago.
const INSERT_DELIVERIES = statement(
  'webhooks.insertDeliveries',
  `insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status, created_at, next_try_at, claimed_by)
   select n.team_id, n.id, n.endpoint_id, n.event_id, n.event_type, 'pending', $1, $1, case when n.claimed then $2::int end
   from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[]) as n (team_id, id, endpoint_id, event_id, event_type, claimed)
   cross join lateral (select from webhook_endpoint where team_id = n.team_id and id = n.endpoint_id limit 1) w
   on conflict (team_id, endpoint_id, event_id) do nothing`,
);

const MARK_FANNED_OUT = statement(
  'webhooks.markFannedOut',
  `update event e set fanned_out_at = $1 from unnest($2::text[], $3::text[]) as n (team_id, id) where e.team_id = n.team_id and e.id = n.id`,
);

// What the crash of a database may lose this way (a fan-out, a result) is made again: a delivery made twice, which receivers expect. It is not worth a sync of
// the disk each time.
const NO_WAIT_FOR_DISK = statement('webhooks.noWaitForDisk', 'set local synchronous_commit = off');

export interface FanOut {
  readonly at: Date;
  readonly worker: number;
  readonly events: readonly { readonly teamId: string; readonly id: string }[];
  readonly deliveries: readonly NewDelivery[];
}

/** Makes the deliveries and marks the events as done, both in the transaction that took the events. */
export function insertDeliveries(tx: Tx, { at, worker, events, deliveries }: FanOut): void {
  const column = <K extends keyof NewDelivery>(name: K): NewDelivery[K][] =>
    deliveries.map((delivery) => delivery[name]);
  tx.send(NO_WAIT_FOR_DISK, []);
  if (deliveries.length > 0) {
    const columns = [
      column('teamId'),
      column('id'),
      column('endpointId'),
      column('eventId'),
      column('eventType'),
      column('claimed'),
    ];
    tx.send(INSERT_DELIVERIES, [at, worker, ...columns]);
  }
  tx.send(MARK_FANNED_OUT, [at, events.map((event) => event.teamId), events.map((event) => event.id)]);
}

// Claims --------------------------------------------------------------------------------------------------------------

const CLAIMED_COLUMNS = `d.team_id, d.id, d.endpoint_id, d.event_id, d.event_type, d.status, d.attempt, d.extra_attempts, d.next_try_at, d.urgent,
  w.url, w.api_version, w.secret_encrypted, e.data::text as event_data, e.created_at as event_created_at`;

/**
 * Marks what `picked` (selects ctid) names as this worker's ($1), and answers with all that the attempts need. How many rows that is, the planner cannot
 * know; ctid and `limit 1` leave it no choice but to fetch each by its place or key, where it would otherwise hash whole tables.
 */
function claim(picked: string): string {
  return `with claimed as (update webhook_delivery d set claimed_by = $1 where ctid = any (array(${picked})) returning d.*)
    select ${CLAIMED_COLUMNS} from claimed d
    cross join lateral (select * from webhook_endpoint where team_id = d.team_id and id = d.endpoint_id limit 1) w
    cross join lateral (select * from event where team_id = d.team_id and id = d.event_id limit 1) e
    order by d.urgent desc, d.id`;
}

const CLAIM_URGENT = statement<ClaimedRow>(
  'webhooks.claimUrgent',
  claim(
    `select ctid from webhook_delivery where urgent and claimed_by is null order by id limit $2 for update skip locked`,
  ),
);

export function claimUrgent(db: Db, worker: number, limit: number): Promise<ClaimedRow[]> {
  return db.query(CLAIM_URGENT, [worker, limit]);
}

const WAITS = {
  pending: { isWaiting: `status = 'pending' and claimed_by is null`, order: 'id' },
  retrying: { isWaiting: `status = 'retrying' and claimed_by is null`, order: 'next_try_at' },
} as const;

// Each endpoint is one range of the index of what waits, and no more of it is read than its share, so that a backlog of 100,000 costs what one of ten does.
function claimDueText(kind: Kind): string {
  const { isWaiting, order } = WAITS[kind];
  return claim(`select d.ctid from unnest($2::text[], $3::text[], $4::int[]) as l (team_id, endpoint_id, room)
    cross join lateral (select from webhook_endpoint where team_id = l.team_id and id = l.endpoint_id and status = 'active' limit 1) w
    cross join lateral (
      select ctid from webhook_delivery where team_id = l.team_id and endpoint_id = l.endpoint_id and ${isWaiting} and next_try_at <= $5
      order by ${order} limit l.room for update skip locked) d`);
}

const CLAIM_DUE = {
  pending: statement<ClaimedRow>('webhooks.claimPending', claimDueText('pending')),
  retrying: statement<ClaimedRow>('webhooks.claimRetrying', claimDueText('retrying')),
};

export interface ClaimOptions {
  readonly worker: number;
  /** Of which endpoints, and at most how many of each. */
  readonly shares: readonly {
    readonly lane: { readonly teamId: string; readonly endpointId: string };
    readonly room: number;
  }[];
  readonly now: Date;
}

/** Due first attempts, or due retries, of those of the endpoints that are active. */
export function claimDue(db: Db, kind: Kind, { worker, shares, now }: ClaimOptions): Promise<ClaimedRow[]> {
  const teamIds = shares.map(({ lane }) => lane.teamId);
  const endpointIds = shares.map(({ lane }) => lane.endpointId);
  return db.query(CLAIM_DUE[kind], [worker, teamIds, endpointIds, shares.map(({ room }) => room), now]);
}

// Endpoints with something that waits, and the first of it, are found by skipping from one to the next in the index: the cost goes by endpoints, not by what
// waits for each.
function walkText(kind: Kind, after: string, limit: string): string {
  const { isWaiting, order } = WAITS[kind];
  const next = (than: string): string => `select team_id, endpoint_id from webhook_delivery
    where ${isWaiting} and (team_id, endpoint_id) > (${than}) order by team_id, endpoint_id limit 1`;
  return `with recursive lane as (
      (select *, 1 as place from (${next(after)}) found)
      union all
      select found.*, l.place + 1 from lane l cross join lateral (${next('l.team_id, l.endpoint_id')}) found where l.place < ${limit}
    )
    select l.team_id, l.endpoint_id, l.place, w.status = 'active' as is_active, d.next_try_at from lane l
    cross join lateral (select status from webhook_endpoint where team_id = l.team_id and id = l.endpoint_id limit 1) w
    cross join lateral (
      select next_try_at from webhook_delivery where team_id = l.team_id and endpoint_id = l.endpoint_id and ${isWaiting} order by ${order} limit 1) d`;
}

function findWaitingText(kind: Kind): string {
  return `select team_id, endpoint_id, place, is_active and next_try_at <= $4 as is_due from (${walkText(kind, '$1, $2', '$3')}) found
    where is_active and next_try_at <= $4 or place = $3 order by place`;
}

interface WaitingRow extends EndpointRef {
  readonly place: number;
  readonly is_due: boolean;
}

const FIND_WAITING = {
  pending: statement<WaitingRow>('webhooks.findPending', findWaitingText('pending')),
  retrying: statement<WaitingRow>('webhooks.findRetrying', findWaitingText('retrying')),
};

export const FIRST_ENDPOINT: EndpointRef = { team_id: '', endpoint_id: '' };

/** The active ones with something due among the next `limit` endpoints for which anything waits, and where the next look begins: after the last, or at the first. */
export async function findWaiting(
  db: Db,
  kind: Kind,
  { after, limit, now }: { after: EndpointRef; limit: number; now: Date },
): Promise<{ due: EndpointRef[]; next: EndpointRef }> {
  const rows = await db.query(FIND_WAITING[kind], [after.team_id, after.endpoint_id, limit, now]);
  const last = rows.at(-1);
  return { due: rows.filter((row) => row.is_due), next: last?.place === limit ? last : FIRST_ENDPOINT };
}

const OLDEST_DUE = statement<{ readonly at: string | null }>(
  'webhooks.oldestDue',
  `select min(next_try_at) as at from (${KINDS.map((kind) => `(${walkText(kind, `'', ''`, '1000000')})`).join(' union all ')}) found where is_active`,
);

/** When that was due, or will be, of what waits for an active endpoint and nobody has in hand; null: nothing waits. Costs 10 µs an endpoint. */
export async function findOldestDue(db: Db): Promise<string | null> {
  const [row] = await db.query(OLDEST_DUE, []);
  return row?.at ?? null;
}

const RELEASE = statement(
  'webhooks.release',
  `update webhook_delivery d set claimed_by = null from unnest($2::text[], $3::text[]) as n (team_id, id)
   where d.team_id = n.team_id and d.id = n.id and d.claimed_by = $1`,
);

/** Lets go what was claimed and not attempted. */
export async function releaseClaims(
  db: Db,
  worker: number,
  claims: readonly { team_id: string; id: string }[],
): Promise<void> {
  await db.query(RELEASE, [worker, claims.map((row) => row.team_id), claims.map((row) => row.id)]);
}

const RELEASE_FORGOTTEN = statement<{ id: string }>(
  'webhooks.releaseForgotten',
  `update webhook_delivery set claimed_by = null where claimed_by = $1 and id <> all ($2::text[]) returning id`,
);

/** Lets go what the database holds to be this worker's and the worker does not know of: a claim whose answer was lost on the way. */
export async function releaseForgotten(db: Db, worker: number, inHand: readonly string[]): Promise<number> {
  return (await db.query(RELEASE_FORGOTTEN, [worker, inHand])).length;
}

// A worker holds an advisory lock (WORKER_LOCK, its number) by a session of its own; the lock goes with the session, however the worker ends.
export const WORKER_LOCK_CLASS = 0x77686b;

// The workers are found by skipping from one to the next in the index of claims.
const RELEASE_DEAD = statement<EndpointRef & { readonly status: Kind }>(
  'webhooks.releaseDead',
  `with recursive worker as (
     (select claimed_by as number from webhook_delivery where claimed_by is not null order by claimed_by limit 1)
     union all
     select n.number from worker c cross join lateral (
       select claimed_by as number from webhook_delivery where claimed_by > c.number order by claimed_by limit 1) n
   ), alive as materialized (
     select objid::bigint as number from pg_locks where locktype = 'advisory' and classid = ${WORKER_LOCK_CLASS} and objsubid = 2
       and database = (select oid from pg_database where datname = current_database())
   )
   update webhook_delivery set claimed_by = null
   where claimed_by = any (array(select number from worker where number not in (select number from alive))) returning team_id, endpoint_id, status`,
);

/** Lets go what workers had in hand that are gone. Answers with where there is something to do now. */
export function releaseDead(db: Db): Promise<(EndpointRef & { readonly status: Kind })[]> {
  return db.query(RELEASE_DEAD, []);
}

// Outcomes ------------------------------------------------------------------------------------------------------------

export interface RecordedAttempt {
  readonly teamId: string;
  readonly id: string;
  readonly endpointId: string;
  readonly status: DeliveryStatus;
  /** After this attempt. */
  readonly attempt: number;
  readonly extraAttempts: number;
  readonly nextTryAt: Date | null;
  readonly wasUrgent: boolean;
  readonly at: Date;
  readonly responseCode: number | null;
  readonly responseExcerpt: string | null;
  readonly responseMs: number;
  readonly error: string | null;
}

// Only what is still this worker's, at the attempt that it made: a row that was deleted, or that another worker has by now, is left alone.
const RECORD = statement(
  'webhooks.record',
  `update webhook_delivery d set status = n.status, attempt = n.attempt, extra_attempts = n.extra_attempts, next_try_at = n.next_try_at,
     urgent = d.urgent and not n.was_urgent and n.status <> 'ok', last_attempt_at = n.at,
     response_code = n.response_code, response_excerpt = n.response_excerpt, response_ms = n.response_ms, error = n.error, claimed_by = null
   from unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::timestamptz[], $8::boolean[], $9::timestamptz[], $10::int[], $11::text[], $12::int[], $13::text[])
     as n (team_id, id, status, attempt, extra_attempts, next_try_at, was_urgent, at, response_code, response_excerpt, response_ms, error)
   where d.team_id = n.team_id and d.id = n.id and d.claimed_by = $1 and d.attempt = n.attempt - 1`,
);

/** Of each delivery the last failed attempts, for the team's admins. */
const ATTEMPTS_KEPT = 10;

// Before RECORD and on its condition, so that what is kept is what is recorded. An attempt that succeeded is its delivery's last and stands in that row:
// a batch without failures does not send this at all.
const KEEP_FAILED = statement(
  'webhooks.keepFailed',
  `with failed as (select * from unnest($2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::int[], $7::int[], $8::text[])
     as n (team_id, id, attempt, at, response_code, response_ms, error)
   ), kept as (
     insert into webhook_attempt (team_id, delivery_id, attempt, ended_at, response_code, response_ms, error) select n.* from failed n
     cross join lateral (select from webhook_delivery where team_id = n.team_id and id = n.id and claimed_by = $1 and attempt = n.attempt - 1 limit 1 for key share) d
     on conflict (team_id, delivery_id, attempt) do update
     set ended_at = excluded.ended_at, response_code = excluded.response_code, response_ms = excluded.response_ms, error = excluded.error
   )
   delete from webhook_attempt a using failed n
   where n.attempt > ${ATTEMPTS_KEPT} and a.team_id = n.team_id and a.delivery_id = n.id and a.attempt <= n.attempt - ${ATTEMPTS_KEPT}`,
);

function keepFailed(tx: Tx, worker: number, attempts: readonly RecordedAttempt[]): void {
  const failed = attempts.filter(({ status }) => status !== 'ok');
  if (failed.length === 0) return;
  const names = ['teamId', 'id', 'attempt', 'at', 'responseCode', 'responseMs', 'error'] as const;
  tx.send(KEEP_FAILED, [worker, ...names.map((name) => failed.map((attempt) => attempt[name]))]);
}

export interface EndpointOutcome {
  readonly teamId: string;
  readonly endpointId: string;
  readonly lastSuccessAt: Date | null;
  /** The first failure that no success followed. */
  readonly failingSince: Date | null;
}

// Only where it says something new, so that a busy endpoint's row is written once a second and not for each delivery. In the order of their keys, so that two
// workers that report on the same endpoints wait for each other instead of deadlocking.
const RECORD_ENDPOINTS = statement(
  'webhooks.recordEndpoints',
  `update webhook_endpoint w set
     last_success_at = coalesce(greatest(w.last_success_at, n.last_success_at), w.last_success_at),
     failing_since = case when n.last_success_at is not null then n.failing_since else coalesce(w.failing_since, n.failing_since) end
   from (
     select n.* from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) as n (team_id, endpoint_id, last_success_at, failing_since)
     join webhook_endpoint w on w.team_id = n.team_id and w.id = n.endpoint_id
     where (n.last_success_at is not null and (w.failing_since is not null or w.last_success_at is null or w.last_success_at < n.last_success_at - interval '1 second'))
       or (n.failing_since is not null and (w.failing_since is null or n.last_success_at is not null))
     order by n.team_id, n.endpoint_id for no key update of w
   ) n
   where w.team_id = n.team_id and w.id = n.endpoint_id`,
);

// A deletion locks an endpoint and then its deliveries. Results in that order, too: otherwise each would wait for the other.
const HOLD_ENDPOINTS = statement(
  'webhooks.holdEndpoints',
  `select from webhook_endpoint w join unnest($1::text[], $2::text[]) as n (team_id, endpoint_id) on w.team_id = n.team_id and w.id = n.endpoint_id
   order by w.team_id, w.id for key share of w`,
);

/** Writes a batch of results, in one transaction and one round trip. */
export async function recordAttempts(
  db: Db,
  worker: number,
  attempts: readonly RecordedAttempt[],
  endpoints: readonly EndpointOutcome[],
): Promise<void> {
  const column = <K extends keyof RecordedAttempt>(name: K): RecordedAttempt[K][] =>
    attempts.map((attempt) => attempt[name]);
  const of = <K extends keyof EndpointOutcome>(name: K): EndpointOutcome[K][] =>
    endpoints.map((endpoint) => endpoint[name]);
  await db.transaction(async (tx) => {
    tx.send(NO_WAIT_FOR_DISK, []);
    if (endpoints.length > 0) tx.send(HOLD_ENDPOINTS, [of('teamId'), of('endpointId')]);
    keepFailed(tx, worker, attempts);
    tx.send(RECORD, [
      worker,
      column('teamId'),
      column('id'),
      column('status'),
      column('attempt'),
      column('extraAttempts'),
      column('nextTryAt'),
      column('wasUrgent'),
      column('at'),
      column('responseCode'),
      column('responseExcerpt'),
      column('responseMs'),
      column('error'),
    ]);
    if (endpoints.length > 0)
      tx.send(RECORD_ENDPOINTS, [of('teamId'), of('endpointId'), of('lastSuccessAt'), of('failingSince')]);
  });
}
