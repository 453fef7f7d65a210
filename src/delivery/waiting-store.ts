/**
 * Finds the endpoints with waiting deliveries. These queries skip through an index from one
 * endpoint to the next. So their cost depends on the number of endpoints (about 10 µs each), not on
 * the number of waiting deliveries.
 */
import { SANDBOX_END } from '../core/sandbox.ts';
import { statement, type Db } from '../db/client.ts';
import type { RowOf } from '../db/rows.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';

/**
 * How deliveries wait, in the order in which an endpoint's are attempted: somebody has requested an
 * attempt (`urgent`); no attempt was made yet; one has failed.
 */
export const WAITING_STATUSES = ['requested', 'pending', 'retrying'] as const;
export type WaitingStatus = (typeof WAITING_STATUSES)[number];

const OF_ACTIVE_ENDPOINT = {
  endpoint: `status = 'active'`,
  isDue: (dueAt: string, now: string): string => `${dueAt} <= ${now}`,
};

/**
 * SQL of deliveries that wait and that no worker has claimed: the order in which they are claimed,
 * which endpoints get them, and when. Requested attempts are made at once, even of endpoints that
 * are paused; a delivery may wait in another way, too, and is claimed once.
 */
export const WAITING = {
  requested: {
    isWaiting: 'urgent and claimed_by is null',
    order: 'id',
    endpoint: 'status is not null',
    // A statement must know the type of each of its parameters.
    isDue: (_dueAt: string, now: string): string => `${now}::timestamptz is not null`,
  },
  pending: { isWaiting: `waits_as = 'pending'`, order: 'id', ...OF_ACTIVE_ENDPOINT },
  retrying: { isWaiting: `waits_as = 'retrying'`, order: 'due_at', ...OF_ACTIVE_ENDPOINT },
} as const;

/** As what a delivery waits that a worker releases. */
export function waitsAs({ status, urgent }: { status: DeliveryStatus; urgent: boolean }) {
  if (urgent) return 'requested';
  return status === 'pending' ? 'pending' : 'retrying';
}

/** An endpoint by its key. */
export type EndpointRef = RowOf<'WebhookDelivery', 'team_id' | 'endpoint_id'>;

/** Sorts before every endpoint. */
export const FIRST_ENDPOINT: EndpointRef = { team_id: '', endpoint_id: '' };

/**
 * Selects the next `limit` endpoints after `after` that have something waiting, numbered by
 * `place`, each with its first waiting delivery. All arguments are SQL.
 */
function endpointsText(status: WaitingStatus, after: string, limit: string): string {
  const { isWaiting, order, endpoint } = WAITING[status];
  const next = (than: string): string => `
      select team_id, endpoint_id, due_at
      from webhook_delivery
      where ${isWaiting} and (team_id, endpoint_id) > (${than})
      order by team_id, endpoint_id, ${order}
      limit 1`;
  return `
    with recursive endpoint as (
      (select *, 1 as place from (${next(after)}) first)
      union all
      select found.*, e.place + 1
      from endpoint e
      cross join lateral (${next('e.team_id, e.endpoint_id')}) found
      where e.place < ${limit}
    )
    select e.team_id, e.endpoint_id, e.place, w.${endpoint} as is_open, e.due_at
    from endpoint e
    left join lateral (
      select status
      from webhook_endpoint
      where team_id = e.team_id and id = e.endpoint_id
      limit 1
    ) w on true`;
}

// The row at the limit is returned even if nothing is due there: the next search begins after it.
function findWaitingText(status: WaitingStatus): string {
  const isDue = `is_open and ${WAITING[status].isDue('due_at', '$4')}`;
  return `select team_id, endpoint_id, place, ${isDue} as is_due
    from (${endpointsText(status, '$1, $2', '$3')}) found
    where ${isDue} or place = $3
    order by place`;
}

interface WaitingRow extends EndpointRef {
  readonly place: number;
  /** null: the endpoint is gone. */
  readonly is_due: boolean | null;
}

const FIND_WAITING = {
  requested: statement<WaitingRow>('webhooks.findRequested', findWaitingText('requested')),
  pending: statement<WaitingRow>('webhooks.findPending', findWaitingText('pending')),
  retrying: statement<WaitingRow>('webhooks.findRetrying', findWaitingText('retrying')),
};

/**
 * Looks at the next `limit` endpoints with something waiting. Returns those with something due,
 * and where the next search begins: after the last endpoint, or at the first one again.
 */
export async function findWaiting(
  db: Db,
  status: WaitingStatus,
  { after, limit, now }: { after: EndpointRef; limit: number; now: Date },
): Promise<{ due: EndpointRef[]; next: EndpointRef }> {
  const values = [after.team_id, after.endpoint_id, limit, now];
  const rows = await db.query(FIND_WAITING[status], values);
  const last = rows.at(-1);
  return {
    due: rows.filter((row) => row.is_due),
    next: last?.place === limit ? last : FIRST_ENDPOINT,
  };
}

const OLDEST_DUE = statement<{ readonly at: string | null }>(
  'webhooks.oldestDue',
  `select min(due_at) as at
   from (
     (${endpointsText('pending', `'', ''`, '1000000')})
     union all
     (${endpointsText('retrying', `'', ''`, '1000000')})
   ) found
   where is_open
     and team_id not like '%${SANDBOX_END}'
     and not exists (
       select
       from json_to_recordset($1::json) as other (team_id text, endpoint_id text)
       where other.team_id = found.team_id and other.endpoint_id = found.endpoint_id
     )`,
);

/**
 * Returns the earliest due time of all unclaimed deliveries to active endpoints of live teams other
 * than `except`, past or future; null when nothing waits.
 */
export async function findOldestDue(
  db: Db,
  except: readonly EndpointRef[] = [],
): Promise<string | null> {
  const [row] = await db.query(OLDEST_DUE, [JSON.stringify(except)]);
  return row?.at ?? null;
}

/** A place in the order in which retries become due. */
export interface DuePosition {
  readonly at: Date | string;
  readonly id: string;
}

interface DueRow extends EndpointRef {
  readonly is_active: boolean | null;
  readonly looked_at: number;
  readonly last_at: string;
  readonly last_id: string;
}

const FIND_NEWLY_DUE = statement<DueRow>(
  'webhooks.findNewlyDue',
  `with due as materialized (
     select team_id, endpoint_id, due_at, id
     from webhook_delivery
     where ${WAITING.retrying.isWaiting}
       and (due_at, id) > ($1, $2)
       and due_at <= $3
     order by due_at, id
     limit $4
   ), last as (
     select due_at as at, id
     from due
     order by due_at desc, id desc
     limit 1
   )
   select e.team_id, e.endpoint_id, w.status = 'active' as is_active,
     (select count(*)::int from due) as looked_at, last.at as last_at, last.id as last_id
   from (select distinct team_id, endpoint_id from due) e
   cross join last
   left join lateral (
     select status
     from webhook_endpoint
     where team_id = e.team_id and id = e.endpoint_id
     limit 1
   ) w on true`,
);

/**
 * Looks at the next `limit` retries that became due after `after` and until `now`. Returns their
 * active endpoints, and the position of the last retry if there may be more behind it.
 */
export async function findNewlyDue(
  db: Db,
  { after, now, limit }: { after: DuePosition; now: Date; limit: number },
): Promise<{ due: EndpointRef[]; next: DuePosition | null }> {
  const rows = await db.query(FIND_NEWLY_DUE, [after.at, after.id, now, limit]);
  const [first] = rows;
  return {
    due: rows.filter((row) => row.is_active),
    next: first?.looked_at === limit ? { at: first.last_at, id: first.last_id } : null,
  };
}

/** An active endpoint, and when it was set to active. */
export interface ActivatedEndpoint extends EndpointRef {
  readonly activated_at: string;
}

/** Returns the active endpoints that were set to active after `since`. */
export const findActivated = statement<ActivatedEndpoint>(
  'webhooks.findActivated',
  `select team_id, id as endpoint_id, activated_at
   from webhook_endpoint
   where activated_at > $1 and status = 'active'`,
).lists<[db: Db, since: Date]>();
