import { statement, type Db, type Tx } from '../../db/client.ts';
import type { DeliveryStatus } from './schedule.ts';

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

/** Endpoints of which this worker has enough (room 0), or wants that many more. */
export interface Rooms {
  readonly teamIds: readonly string[];
  readonly endpointIds: readonly string[];
  readonly rooms: readonly number[];
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

const TAKE_EVENTS = statement<FanOutRow>(
  'webhooks.takeEvents',
  `select e.team_id, e.id as event_id, e.type as event_type, e.data::text as event_data, e.created_at as event_created_at,
     w.id as endpoint_id, w.url, w.api_version, w.secret_encrypted
   from (select * from event where fanned_out_at is null order by created_at limit $1 for update skip locked) e
   left join webhook_endpoint w on w.team_id = e.team_id and w.status = 'active' and e.type = any (w.events)
   order by e.created_at, e.id`,
);

/** Events that wait for their fan-out, oldest first, one row for each active subscriber; no other worker takes them until the transaction ends. */
export function takeEvents(tx: Tx, limit: number): Promise<FanOutRow[]> {
  return tx.query(TAKE_EVENTS, [limit]);
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
   join webhook_endpoint w on w.team_id = n.team_id and w.id = n.endpoint_id
   on conflict (team_id, endpoint_id, event_id) do nothing`,
);

const MARK_FANNED_OUT = statement(
  'webhooks.markFannedOut',
  `update event e set fanned_out_at = $1 from unnest($2::text[], $3::text[]) as n (team_id, id) where e.team_id = n.team_id and e.id = n.id`,
);

export interface FanOut {
  readonly at: Date;
  readonly worker: number;
  readonly events: readonly { readonly teamId: string; readonly id: string }[];
  readonly deliveries: readonly NewDelivery[];
}

/** Makes the deliveries and marks the events as done, both in the transaction that took the events. */
export function insertDeliveries(tx: Tx, { at, worker, events, deliveries }: FanOut): void {
  const column = <K extends keyof NewDelivery>(name: K): NewDelivery[K][] => deliveries.map((delivery) => delivery[name]);
  if (deliveries.length > 0) {
    const columns = [column('teamId'), column('id'), column('endpointId'), column('eventId'), column('eventType'), column('claimed')];
    tx.send(INSERT_DELIVERIES, [at, worker, ...columns]);
  }
  tx.send(MARK_FANNED_OUT, [at, events.map((event) => event.teamId), events.map((event) => event.id)]);
}

// Claims --------------------------------------------------------------------------------------------------------------

const CLAIMED_COLUMNS = `d.team_id, d.id, d.endpoint_id, d.event_id, d.event_type, d.status, d.attempt, d.extra_attempts, d.next_try_at, d.urgent,
  w.url, w.api_version, w.secret_encrypted, e.data::text as event_data, e.created_at as event_created_at`;

/** Marks what `picked` (team_id, id) names as this worker's ($1), and answers with all that the attempts need. */
function claim(picked: string): string {
  return `with picked as materialized (${picked}),
    claimed as (update webhook_delivery d set claimed_by = $1 from picked p where d.team_id = p.team_id and d.id = p.id returning d.*)
    select ${CLAIMED_COLUMNS} from claimed d join webhook_endpoint w on w.team_id = d.team_id and w.id = d.endpoint_id
    join event e on e.team_id = d.team_id and e.id = d.event_id order by d.urgent desc, d.id`;
}

const CLAIM_URGENT = statement<ClaimedRow>(
  'webhooks.claimUrgent',
  claim(`select team_id, id from webhook_delivery where urgent and claimed_by is null order by id limit $2 for update skip locked`),
);

export function claimUrgent(db: Db, worker: number, limit: number): Promise<ClaimedRow[]> {
  return db.query(CLAIM_URGENT, [worker, limit]);
}

// Endpoints with something to do are found by skipping from one to the next in the partial index, so the cost goes by endpoints, not by what waits for each.
// Of each one it takes no more than its room, so a backlog of 100,000 does not crowd out the single delivery beside it.
function claimFair(waits: string, order: string): string {
  return claim(`with recursive lane as (
      (select team_id, endpoint_id from webhook_delivery where ${waits} and (team_id, endpoint_id) > ($4, $5) order by team_id, endpoint_id limit 1)
      union all
      select n.team_id, n.endpoint_id from lane l cross join lateral (
        select team_id, endpoint_id from webhook_delivery where ${waits} and (team_id, endpoint_id) > (l.team_id, l.endpoint_id)
        order by team_id, endpoint_id limit 1) n
    )
    select d.team_id, d.id from lane l
    join webhook_endpoint w on w.team_id = l.team_id and w.id = l.endpoint_id and w.status = 'active'
    left join unnest($6::text[], $7::text[], $8::int[]) as known (team_id, endpoint_id, room) on known.team_id = l.team_id and known.endpoint_id = l.endpoint_id
    cross join lateral (
      select team_id, id from webhook_delivery where team_id = l.team_id and endpoint_id = l.endpoint_id and ${waits} and next_try_at <= $9
      order by ${order} limit coalesce(known.room, $3) for update skip locked) d
    limit $2`);
}

const CLAIM_PENDING = statement<ClaimedRow>('webhooks.claimPending', claimFair(`status = 'pending' and claimed_by is null`, 'id'));
const CLAIM_RETRYING = statement<ClaimedRow>('webhooks.claimRetrying', claimFair(`status = 'retrying' and claimed_by is null`, 'next_try_at'));

export interface ClaimOptions {
  readonly worker: number;
  readonly limit: number;
  /** How many of an endpoint that `rooms` does not name. */
  readonly defaultRoom: number;
  readonly rooms: Rooms;
  /** Endpoints after this one, in the order of their ids. */
  readonly after: { readonly teamId: string; readonly endpointId: string };
  readonly now: Date;
}

/** Due first attempts, or due retries, of active endpoints. */
export function claimDue(db: Db, kind: 'pending' | 'retrying', options: ClaimOptions): Promise<ClaimedRow[]> {
  const { worker, limit, defaultRoom, rooms, after, now } = options;
  const values = [worker, limit, defaultRoom, after.teamId, after.endpointId, rooms.teamIds, rooms.endpointIds, rooms.rooms, now];
  return db.query(kind === 'pending' ? CLAIM_PENDING : CLAIM_RETRYING, values);
}

// The lateral select per endpoint again, for those whose turn goes on.
function claimOf(waits: string, order: string): string {
  return claim(`select d.team_id, d.id from unnest($2::text[], $3::text[], $4::int[]) as l (team_id, endpoint_id, room)
    join webhook_endpoint w on w.team_id = l.team_id and w.id = l.endpoint_id and w.status = 'active'
    cross join lateral (
      select team_id, id from webhook_delivery where team_id = l.team_id and endpoint_id = l.endpoint_id and ${waits} and next_try_at <= $5
      order by ${order} limit l.room for update skip locked) d`);
}

const CONTINUE_PENDING = statement<ClaimedRow>('webhooks.continuePending', claimOf(`status = 'pending' and claimed_by is null`, 'id'));
const CONTINUE_RETRYING = statement<ClaimedRow>('webhooks.continueRetrying', claimOf(`status = 'retrying' and claimed_by is null`, 'next_try_at'));

/** More of the endpoints that `rooms` names. */
export function claimMore(db: Db, kind: 'pending' | 'retrying', options: { worker: number; rooms: Rooms; now: Date }): Promise<ClaimedRow[]> {
  const { worker, rooms, now } = options;
  return db.query(kind === 'pending' ? CONTINUE_PENDING : CONTINUE_RETRYING, [worker, rooms.teamIds, rooms.endpointIds, rooms.rooms, now]);
}

const RELEASE = statement(
  'webhooks.release',
  `update webhook_delivery d set claimed_by = null from unnest($2::text[], $3::text[]) as n (team_id, id)
   where d.team_id = n.team_id and d.id = n.id and d.claimed_by = $1`,
);

/** Lets go what was claimed and not attempted. */
export async function releaseClaims(db: Db, worker: number, claims: readonly { team_id: string; id: string }[]): Promise<void> {
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

const RELEASE_DEAD = statement<{ id: string }>(
  'webhooks.releaseDead',
  `update webhook_delivery set claimed_by = null where claimed_by in (
     select c.worker from (select distinct claimed_by as worker from webhook_delivery where claimed_by is not null) c
     where not exists (select from pg_locks k where k.locktype = 'advisory' and k.classid = ${WORKER_LOCK_CLASS} and k.objid = c.worker and k.objsubid = 2
       and k.database = (select oid from pg_database where datname = current_database()))
   ) returning id`,
);

/** Lets go what workers had in hand that are gone. */
export async function releaseDead(db: Db): Promise<number> {
  return (await db.query(RELEASE_DEAD, [])).length;
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

// A lost result is a delivery made twice, which receivers expect; it is not worth a sync of the disk each time.
const NO_WAIT_FOR_DISK = statement('webhooks.noWaitForDisk', 'set local synchronous_commit = off');

/** Writes a batch of results, in one transaction and one round trip. */
export async function recordAttempts(db: Db, worker: number, attempts: readonly RecordedAttempt[], endpoints: readonly EndpointOutcome[]): Promise<void> {
  const column = <K extends keyof RecordedAttempt>(name: K): RecordedAttempt[K][] => attempts.map((attempt) => attempt[name]);
  await db.transaction(async (tx) => {
    tx.send(NO_WAIT_FOR_DISK, []);
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
    if (endpoints.length === 0) return;
    const of = <K extends keyof EndpointOutcome>(name: K): EndpointOutcome[K][] => endpoints.map((endpoint) => endpoint[name]);
    tx.send(RECORD_ENDPOINTS, [of('teamId'), of('endpointId'), of('lastSuccessAt'), of('failingSince')]);
  });
}
