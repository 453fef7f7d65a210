/** What is known of a team's events and deliveries, and of what they wait for. Reads only. */
import { statement, type Db, type Tx } from '../db/client.ts';
import { listed, type RowOf } from '../db/rows.ts';
import { IS_WORKER_LOCK } from '../delivery/claim-store.ts';
import { WAITING, type WaitingStatus } from '../delivery/waiting-store.ts';
import {
  AUDIT,
  DELIVERY,
  EVENT,
  type AuditRow,
  type DeliveryRow,
  type EventRow,
} from './find-store.ts';

const BEGIN = statement(
  'trace.begin',
  `select set_config('application_name', 'team-customer-api trace', true),
     set_config('default_transaction_read_only', 'on', true),
     set_config('transaction_read_only', 'on', true),
     set_config('statement_timeout', $1, true)`,
);

/**
 * Lets the transaction read only, and limits the time of its statements. The settings end with it:
 * behind a pooler, others use the session.
 */
export function readOnly(tx: Tx, statementTimeoutMs: number): void {
  tx.send(BEGIN, [String(statementTimeoutMs)]);
}

const LIST_WORKERS_OF_NODES = statement<{ readonly number: number }>(
  'trace.listWorkersOfNodes',
  `select distinct json_array_elements_text(result::json)::int as number
   from run_command_on_all_nodes(
     $$select coalesce(json_agg(objid), '[]') from pg_locks where ${IS_WORKER_LOCK}$$
   )
   where success
   order by number`,
);

/** Returns the numbers of the workers that are alive, on a distributed database. */
export async function listWorkersOfNodes(db: Db): Promise<number[]> {
  return (await db.query(LIST_WORKERS_OF_NODES, [])).map(({ number }) => number);
}

export const findTeam = statement<TeamRow>(
  'trace.findTeam',
  `select t.id, t.status, t.erasing_since, s.receivers_fail_until
   from team t
   left join sandbox s on s.team_id = t.id
   where t.id = $1`,
).finds<[db: Db, teamId: string]>();

/** A team, and what its sandbox plays, if it is one. */
export type TeamRow = RowOf<'Team', 'id' | 'status' | 'erasing_since'> & {
  readonly receivers_fail_until: string | null;
};

// An event has the time of its audit entry, so it is found without an index by request.
const LIST_EVENTS_AT = statement<EventRow>(
  'trace.listEventsAt',
  `select ${listed(EVENT)}
   from event
   where team_id = $1
     and created_at = $2
     and request_id = $3
   order by id
   limit $4`,
);

/** The events that a request has raised at this time. */
export function listEventsAt(
  db: Db,
  teamId: string,
  { requestId, at }: { readonly requestId: string; readonly at: string },
  limit: number,
): Promise<EventRow[]> {
  return db.query(LIST_EVENTS_AT, [teamId, at, requestId, limit]);
}

const LIST_AUDIT_AT = statement<AuditRow>(
  'trace.listAuditAt',
  `select ${listed(AUDIT)}
   from audit_log
   where team_id = $1
     and created_at = $2
     and request_id = $3
   order by id
   limit $4`,
);

/** The audit entries of a request at this time. */
export function listAuditAt(
  db: Db,
  teamId: string,
  { requestId, at }: { readonly requestId: string; readonly at: Date },
  limit: number,
): Promise<AuditRow[]> {
  return db.query(LIST_AUDIT_AT, [teamId, at, requestId, limit]);
}

/** The deliveries of an event. */
export const listDeliveries = statement<DeliveryRow>(
  'trace.listDeliveries',
  `select ${listed(DELIVERY)}
   from webhook_delivery
   where team_id = $1 and event_id = $2
   order by id
   limit $3`,
).lists<[db: Db, teamId: string, eventId: string, limit: number]>();

const COUNT_MAX = 1_000;

// Without the order, the planner may look for few among all deliveries of the endpoint.
const firstText = (status: WaitingStatus, columns: string, limit: number): string => `(
         select ${columns}
         from webhook_delivery
         where team_id = $1 and endpoint_id = w.id and ${WAITING[status].isWaiting}
         order by ${WAITING[status].order}
         limit ${limit}
       )`;
const countText = (status: WaitingStatus): string => `(
       select count(*)::int
       from ${firstText(status, '', COUNT_MAX)} counted
     )`;

/** A webhook endpoint and what waits for it, each count up to `COUNT_MAX`. */
export type EndpointRow = RowOf<
  'WebhookEndpoint',
  | 'team_id'
  | 'id'
  | 'url'
  | 'events'
  | 'status'
  | 'created_at'
  | 'failing_since'
  | 'last_success_at'
> & {
  readonly requested: number;
  readonly pending: number;
  readonly retrying: number;
  readonly oldest_due_at: string | null;
};

/** The team's webhook endpoints, oldest first. */
export const listEndpoints = statement<EndpointRow>(
  'trace.listEndpoints',
  `select w.id, w.team_id, w.status, w.url, w.events, w.created_at, w.failing_since,
     w.last_success_at,
     ${countText('requested')} as requested,
     ${countText('pending')} as pending,
     ${countText('retrying')} as retrying,
     least(
       ${firstText('pending', 'due_at', 1)},
       ${firstText('retrying', 'due_at', 1)}
     ) as oldest_due_at
   from webhook_endpoint w
   where w.team_id = $1
   order by w.created_at, w.id
   limit $2`,
).lists<[db: Db, teamId: string, limit: number]>();

/** The newest deliveries whose last attempt failed. `endpointId` null: to any endpoint. */
export const listFailed = statement<DeliveryRow>(
  'trace.listFailed',
  `select ${listed(DELIVERY, 'd.')}
   from webhook_endpoint w
   cross join lateral (
     select ${listed(DELIVERY)}
     from webhook_delivery
     where team_id = $1 and endpoint_id = w.id and has_failed
     order by created_at desc, id desc
     limit $3
   ) d
   where w.team_id = $1 and w.id = coalesce($2, w.id)
   order by d.created_at desc, d.id desc
   limit $3`,
).lists<[db: Db, teamId: string, endpointId: string | null, limit: number]>();

/** What these workers have in hand of the team's deliveries: some thousands each at most. */
export const countInHand = statement<InHandRow>(
  'trace.countInHand',
  `select held.endpoint_id, held.worker, count(*)::int as count
   from (
     select id, endpoint_id, coalesce(held_by, 0) as worker
     from webhook_delivery
     where team_id = $1 and held_by = any ($2::int[])
     union
     select d.id, d.endpoint_id, h.worker
     from event_in_hand h
     join webhook_delivery d on d.team_id = h.team_id and d.event_id = h.event_id
     where h.team_id = $1 and d.claimed_by = h.worker
   ) held
   group by held.endpoint_id, held.worker
   order by held.endpoint_id, held.worker`,
).lists<[db: Db, teamId: string, workers: readonly number[]]>();

/** How many deliveries of an endpoint a worker has in hand. */
export interface InHandRow {
  readonly endpoint_id: string;
  readonly worker: number;
  readonly count: number;
}

/** A session whose transaction has locked a row. */
export interface LockRow {
  readonly id: string;
  readonly pid: number;
  readonly application_name: string;
  readonly xact_start: string;
}

// The rows are read first, and not once for each transaction of the server.
const lockersText = (table: string): string => `
   with named as materialized (
     select id, xmax as holder
     from ${table}
     where team_id = $1 and id = any ($2::text[])
   )
   select r.id, a.pid, a.application_name, a.xact_start
   from named r
   join pg_locks l on l.locktype = 'transactionid' and l.granted and l.transactionid = r.holder
   join pg_stat_activity a on a.pid = l.pid`;

// A row that a transaction has locked or changed names it, and each transaction holds the lock of
// its own number. A row that several have locked together names none of them.
const FIND_LOCKERS = {
  event: statement<LockRow>('trace.findLockersOfEvents', lockersText('event')),
  delivery: statement<LockRow>('trace.findLockersOfDeliveries', lockersText('webhook_delivery')),
  endpoint: statement<LockRow>('trace.findLockersOfEndpoints', lockersText('webhook_endpoint')),
};

/** Who holds locks on these rows. Not on Citus: a node cannot be asked for both. */
export function findLockers(
  db: Db,
  what: keyof typeof FIND_LOCKERS,
  teamId: string,
  ids: readonly string[],
): Promise<LockRow[]> {
  return db.query(FIND_LOCKERS[what], [teamId, ids]);
}
