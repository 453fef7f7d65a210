/** How well the receivers of a team take its deliveries, counted in the database. */
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, newestFirst } from '../../db/keyset.ts';
import type { RowOf } from '../../db/rows.ts';
import { BACKLOG_WITHIN_S, COUNTED_MAX, RECENT } from './rules.ts';

/** The health of an endpoint. */
export interface HealthRow extends RowOf<
  'WebhookEndpoint',
  'url' | 'description' | 'status' | 'secret_unconfirmed_since'
> {
  readonly endpoint_id: string;
  /** Whether its last deliveries arrived, those that were tried, the oldest first. */
  readonly arrived: readonly boolean[];
  /** The UTC day of each of these, `YYYY-MM-DD`. */
  readonly days: readonly string[];
  /** Of those that were answered; null: none was. */
  readonly median_ms: number | null;
  /** At most one more than are counted. */
  readonly failed: number;
  readonly waiting: number;
}

/** The health of an endpoint with the names of the counts that ended before all was counted. */
export interface Health extends HealthRow {
  readonly has_more: readonly ('failed' | 'waiting')[];
}

/** SQL: how many deliveries of the endpoint `w` there are in a range of an index. */
const counted = (range: string): string => `(
       select count(*)::int
       from (
         select
         from webhook_delivery
         where team_id = $1 and endpoint_id = w.id and ${range}
         limit ${COUNTED_MAX + 1}
       ) found
     )`;

// Reads the end of each endpoint's part of an index, however many deliveries it has. Counters would
// cost every attempt a write.
/** The health of each of the team's endpoints. `failed`: of deliveries created since then. */
export const listHealth = statement<HealthRow>(
  'webhooks.listHealth',
  `select w.id as endpoint_id, w.url, w.description, w.status, w.secret_unconfirmed_since,
     recent.arrived, recent.days, recent.median_ms,
     ${counted('created_at >= $2 and has_failed')} as failed,
     ${counted(`waits_as = 'pending'`)} + ${counted(`waits_as = 'retrying'`)} as waiting
   from webhook_endpoint w
   cross join lateral (
     select
       coalesce(
         array_agg(status = 'ok' order by created_at, id) filter (where status <> 'pending'),
         '{}'
       ) as arrived,
       coalesce(
         array_agg(to_char(created_at at time zone 'utc', 'YYYY-MM-DD') order by created_at, id)
           filter (where status <> 'pending'),
         '{}'
       ) as days,
       percentile_disc(0.5) within group (order by response_ms)
         filter (where response_code is not null) as median_ms
     from (
       select created_at, id, status, response_code, response_ms
       from webhook_delivery
       where team_id = $1 and endpoint_id = w.id
       ${newestFirst(BY_CREATION, RECENT)}
     ) last
   ) recent
   where w.team_id = $1
   order by w.id`,
  // One plan for all teams would sort all deliveries of an endpoint for its last ones.
  { isSearch: true },
).lists<[db: Db, teamId: string, since: Date]>();

/** What waits for an attempt at an endpoint. */
export interface Backlog {
  /** How many wait for their first attempt. */
  readonly first: number;
  /** How many are tried again within so many seconds, each in one group. null: later. */
  readonly again: readonly { readonly withinS: number | null; readonly count: number }[];
  readonly hasMore: boolean;
}

/** How many deliveries wait in a group. `place` null: for their first attempt. */
export interface BacklogRow {
  /** The place of the group in BACKLOG_WITHIN_S; its length for what is due later. */
  readonly place: number | null;
  readonly count: number;
}

const BACKLOG = statement<BacklogRow>(
  'webhooks.backlog',
  `with waiting as (
     (
       select null::timestamptz as due_at, true as is_first
       from webhook_delivery
       where team_id = $1 and endpoint_id = $2 and waits_as = 'pending'
       limit ${COUNTED_MAX + 1}
     )
     union all
     (
       select due_at, false
       from webhook_delivery
       where team_id = $1 and endpoint_id = $2 and waits_as = 'retrying'
       order by due_at
       limit ${COUNTED_MAX + 1}
     )
   )
   select
     case when is_first then null else width_bucket(due_at, $3::timestamptz[]) end as place,
     count(*)::int as count
   from waiting
   where exists (select from webhook_endpoint where team_id = $1 and id = $2)
   group by place`,
);

/** What waits for an attempt at an endpoint, in groups. Each kind is counted to COUNTED_MAX + 1. */
export function readBacklog(
  db: Db,
  teamId: string,
  { endpointId, now }: { readonly endpointId: string; readonly now: Date },
): Promise<BacklogRow[]> {
  const ends = BACKLOG_WITHIN_S.map((withinS) => new Date(now.getTime() + withinS * 1000));
  return db.query(BACKLOG, [teamId, endpointId, ends]);
}
