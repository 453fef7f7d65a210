import { PAGE_LIMIT_MAX, type PagePosition } from '../../core/page.ts';
import { statement, statementsByFilters, type Db, type Statement } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import type { DeliveryStatus } from '../../delivery/schedule.ts';
import type { DeliveryRow } from './store.ts';

/** A delivery as the team's admins see it. */
export interface AdminDeliveryRow extends DeliveryRow {
  readonly event_id: string;
  readonly last_attempt_at: string | null;
}

const COLUMNS = `d.id, d.endpoint_id, d.event_id, d.attempt, d.status, d.event_type,
  d.created_at, d.next_try_at, d.last_attempt_at, d.response_code, d.response_excerpt,
  d.response_ms, d.error`;

/** Which deliveries to list. */
export interface DeliveryFilters {
  readonly status?: DeliveryStatus | undefined;
  readonly event_type?: string | undefined;
  readonly endpoint_id?: string | undefined;
  /** ISO, inclusive. */
  readonly since?: string | undefined;
  /** ISO, exclusive. */
  readonly until?: string | undefined;
}

// Pending deliveries: the waiting ones and those that a worker has claimed, each found by its
// index. They are sorted afterwards. Without `offset 0`, the planner would read all deliveries in
// the order of the list, usually to find that nothing waits.
const PENDING = `(
           select *
           from webhook_delivery
           where team_id = w.team_id
             and endpoint_id = w.id
             and status = 'pending'
             and claimed_by is null
           union all
           select *
           from webhook_delivery
           where team_id = w.team_id
             and endpoint_id = w.id
             and status = 'pending'
             and claimed_by is not null
           offset 0
         ) waiting`;

// Merges the pages of the team's endpoints, 50 at most. There is no index of a team's deliveries
// over all endpoints, because every attempt would have to update it. The status is part of the
// text, so that the planner finds the index of failed deliveries. The type has no index: a search
// for a rare one reads through the time range, at 3 µs a delivery.
function listStatement(
  status: DeliveryStatus | 'any',
  named: readonly string[],
): Statement<AdminDeliveryRow> {
  const place = (name: string): string => `$${named.indexOf(name) + 7}`;
  const ofStatus = status === 'any' ? '' : ` and status = '${status}'`;
  const ofType = named.includes('event_type') ? ` and event_type = ${place('event_type')}` : '';
  const ofEndpoint = named.includes('endpoint_id') ? ` and w.id = ${place('endpoint_id')}` : '';
  const source = status === 'pending' ? PENDING : 'webhook_delivery';
  return statement(
    ['webhooks.adminList', status, ...named].join('.'),
    `select ${COLUMNS}
     from (
       select found.*
       from webhook_endpoint w
       cross join lateral (
         select created_at, id
         from ${source}
         where team_id = w.team_id
           and endpoint_id = w.id
           and ${isAfter(BY_CREATION, ['$3', '$4'])}
           and created_at >= coalesce($5::timestamptz, '-infinity')
           and created_at < coalesce($6::timestamptz, 'infinity')${ofStatus}${ofType}
         ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
       ) found
       where w.team_id = $1${ofEndpoint}
       ${newestFirst(['found.created_at', 'found.id'], '$2')}
     ) page
     cross join lateral (
       select *
       from webhook_delivery
       where team_id = $1 and id = page.id
       limit 1
     ) d
     ${newestFirst(['page.created_at', 'page.id'])}`,
  );
}

const listsOf = (status: DeliveryStatus | 'any') =>
  statementsByFilters(['event_type', 'endpoint_id'], (named) => listStatement(status, named));
const LISTS = {
  any: listsOf('any'),
  pending: listsOf('pending'),
  retrying: listsOf('retrying'),
  ok: listsOf('ok'),
  gave_up: listsOf('gave_up'),
} as const satisfies Record<DeliveryStatus | 'any', unknown>;

/**
 * Lists deliveries of all endpoints, newest first, from the position `after` on. `limit` may be at
 * most one more than a page holds.
 */
export function listDeliveries(
  db: Db,
  teamId: string,
  { limit, after }: { readonly limit: number; readonly after: PagePosition | null },
  filters: DeliveryFilters,
): Promise<AdminDeliveryRow[]> {
  const { since, until } = filters;
  const { list, values } = LISTS[filters.status ?? 'any'](filters);
  return db.query(list, [
    teamId,
    limit,
    ...positionValues(after),
    since ?? null,
    until ?? null,
    ...values,
  ]);
}

/** A delivery with all parts of its request. */
export interface DeliveryDetailRow extends AdminDeliveryRow {
  readonly url: string;
  readonly api_version: string;
  /** JSON text, as it was stored when the event happened. */
  readonly event_data: string;
  readonly event_created_at: string;
}

const FIND = statement<DeliveryDetailRow>(
  'webhooks.adminFind',
  `select ${COLUMNS}, w.url, w.api_version, e.data::text as event_data,
     e.created_at as event_created_at
   from webhook_delivery d
   join webhook_endpoint w on w.team_id = d.team_id and w.id = d.endpoint_id
   join event e on e.team_id = d.team_id and e.id = d.event_id
   where d.team_id = $1 and d.id = $2`,
);

/** The delivery with its event and its endpoint, or null. */
export async function findDelivery(
  db: Db,
  teamId: string,
  deliveryId: string,
): Promise<DeliveryDetailRow | null> {
  const [row] = await db.query(FIND, [teamId, deliveryId]);
  return row ?? null;
}

/** An attempt that ended. */
export interface AttemptRow {
  readonly attempt: number;
  readonly ended_at: string;
  readonly response_code: number | null;
  readonly response_ms: number | null;
  readonly error: string | null;
}

const LIST_FAILED_ATTEMPTS = statement<AttemptRow>(
  'webhooks.adminAttempts',
  `select attempt, ended_at, response_code, response_ms, error
   from webhook_attempt
   where team_id = $1 and delivery_id = $2
   order by attempt desc`,
);

/** The failed attempts that are kept, newest first. */
export function listFailedAttempts(
  db: Db,
  teamId: string,
  deliveryId: string,
): Promise<AttemptRow[]> {
  return db.query(LIST_FAILED_ATTEMPTS, [teamId, deliveryId]);
}
