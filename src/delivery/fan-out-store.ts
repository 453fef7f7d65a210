import { teamKey } from '../core/team-key.ts';
import { statement, type Tx } from '../db/client.ts';
import type { Parameter } from '../db/keyset.ts';
import { holdUnlessLocked } from '../db/row-lock.ts';
import type { RowOf } from '../db/rows.ts';
import { HOLD_EVENTS } from './claim-store.ts';
import { columnsOf, NO_WAIT_FOR_DISK } from './result-store.ts';

/** An event, with all that an attempt needs of it. */
interface TakenEvent {
  readonly team_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly event_data: string;
  readonly event_created_at: string;
  /** The trace of the call that raised the event; null: it is not traced. */
  readonly event_traceparent: string | null;
  /** Somebody has locked the endpoint. The event must wait, and others must not. */
  readonly is_busy: boolean;
  /** Where the next look for teams goes on; null: at the newest event again. */
  readonly reached: string | null;
}

type SubscriberColumn = 'url' | 'api_version' | 'secret_encrypted' | 'earlier_secrets_encrypted';

/** One of the event's endpoints, with all that an attempt needs of it. */
export type Subscriber = {
  readonly endpoint_id: string;
  /** False: it was active when the event happened, and is paused now. */
  readonly is_active: boolean;
} & RowOf<'WebhookEndpoint', SubscriberColumn>;

type NoSubscriber = { readonly [column in keyof Subscriber]: null };

/** One event and one of its subscribers. An event without subscribers has one row. */
export type FanOutRow = TakenEvent & (Subscriber | NoSubscriber);

/** The most deliveries of an event: one for each webhook endpoint of its team. */
export const DELIVERIES_PER_EVENT = 50;

/** SQL: the event is not older than the parameter; null: whenever it was created. */
const isNotBefore = (parameter: Parameter): string =>
  `created_at >= coalesce(${parameter}::timestamptz, '-infinity')`;

/** How many events are looked at, in each of three places. All of them take 1 ms. */
const IN_SIGHT = 200;

/** SQL: some of the events that wait. None is older than $2. */
const inSight = (order: 'asc' | 'desc', isEarlier = false): string => `
              select team_id, id, created_at, ${isEarlier} as is_earlier
              from event
              where fanned_out_at is null and ${isNotBefore('$2')}${
                isEarlier ? ` and created_at < coalesce($3::timestamptz, 'infinity')` : ''
              }
              order by created_at ${order}
              limit ${IN_SIGHT}`;

/**
 * SQL: the oldest event that waits, one event of each team, those of teams with few first, and then
 * the oldest. `reached` is where the next look for teams goes on: $3. None is older than $2.
 */
// No index has the events that wait by team: every event would write it. So the teams are looked
// for among the oldest events, the newest, and those before $3, which comes to all of them: a team
// that has flooded stands alone among the oldest for long.
export const IN_ORDER = `
        select team_id, id, reached
        from (
          select team_id, id,
            min(min(created_at) filter (where is_earlier)) over () as reached,
            row_number() over (order by created_at, team_id, id) as place,
            row_number() over (partition by team_id order by created_at, id) as of_team,
            count(*) over (partition by team_id) as waiting
          from (
            (${inSight('asc')}
            )
            union all
            (${inSight('desc')}
            )
            union all
            (${inSight('desc', true)}
            )
          ) near
          group by team_id, id, created_at
        ) ranked
        order by place > 1, of_team > 1, case when of_team = 1 then waiting end, place`;

// The limit is outside, so that those of another worker are passed over.
const TAKEN = `
      select own.*, picked.reached
      from (${IN_ORDER}
      ) picked
      cross join lateral (
        select *
        from event
        where team_id = picked.team_id and id = picked.id and fanned_out_at is null
        limit 1
        for update skip locked
      ) own
      limit $1`;

/**
 * SQL: locks these events, and selects each with its subscribers: those that are active, and those
 * that were paused after the event. A backlog may lie between an event and its fan-out.
 */
// `offset 0` makes the planner read the endpoints of each event's team. Without it, the planner
// hashes the endpoints of all teams. Each subscriber is locked, because a deletion that follows
// must find the deliveries. One that is locked already is not waited for.
export const TAKE_EVENTS = statement<FanOutRow>(
  'webhooks.takeEvents',
  `select e.team_id, e.id as event_id, e.type as event_type, e.data::text as event_data,
      e.created_at as event_created_at, e.traceparent as event_traceparent,
      w.id as endpoint_id, w.url, w.api_version, w.secret_encrypted, w.earlier_secrets_encrypted,
      w.status = 'active' as is_active, w.id is not null and own.is_held is null as is_busy,
      e.reached
    from (${TAKEN}
    ) e
    left join lateral (
      select *
      from webhook_endpoint
      where team_id = e.team_id
        and (status = 'active' or e.created_at <= paused_at)
        and e.type = any (events)
      offset 0
    ) w on true
    ${holdUnlessLocked('webhook_endpoint', 'team_id = e.team_id and id = w.id')}
   order by e.created_at, e.id, w.id`,
);

/** How many events to take, none older than `from`. `before`: where the look for teams goes on. */
export interface WaitingRange {
  readonly limit: number;
  readonly from: Date | null;
  readonly before: string | null;
}

/**
 * Takes events that wait for their fan-out, one row for each subscriber. They stay locked until the
 * transaction ends; other workers skip them.
 */
export function takeEvents(tx: Tx, { limit, from, before }: WaitingRange): Promise<FanOutRow[]> {
  return tx.query(TAKE_EVENTS, [limit, from, before]);
}

/** A delivery to insert, with status `pending` and due at once. */
export interface NewDelivery {
  readonly teamId: string;
  readonly id: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** Whether the worker that inserts it claims it at once. */
  readonly claimed: boolean;
}

const INSERT_DELIVERIES = statement(
  'webhooks.insertDeliveries',
  `insert into webhook_delivery
     (team_id, id, endpoint_id, event_id, event_type, status, created_at, next_try_at,
      claimed_by, first_worker)
   select n.team_id, n.id, n.endpoint_id, n.event_id, n.event_type, 'pending', $1, $1,
     case when n.claimed then $2::int end, case when n.claimed then $2::int end
   from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])
     as n (team_id, id, endpoint_id, event_id, event_type, claimed)
   on conflict (team_id, endpoint_id, event_id) do nothing`,
);

const MARK_FANNED_OUT = statement(
  'webhooks.markFannedOut',
  `update event e
   set fanned_out_at = $1
   from unnest($2::text[], $3::text[]) as n (team_id, id)
   where e.team_id = n.team_id and e.id = n.id`,
);

/** What one fan-out writes. */
export interface FanOut {
  readonly at: Date;
  readonly worker: number;
  readonly events: readonly { readonly teamId: string; readonly id: string }[];
  readonly deliveries: readonly NewDelivery[];
}

const DELIVERY_COLUMNS = ['teamId', 'id', 'endpointId', 'eventId', 'eventType', 'claimed'] as const;

/**
 * Inserts the deliveries and marks the events as fanned out. Needs the transaction that took the
 * events.
 */
export function insertDeliveries(tx: Tx, { at, worker, events, deliveries }: FanOut): void {
  tx.send(NO_WAIT_FOR_DISK, []);
  if (deliveries.length > 0)
    tx.send(INSERT_DELIVERIES, [at, worker, ...columnsOf(deliveries, DELIVERY_COLUMNS)]);
  const claimed = new Set(
    deliveries
      .filter((delivery) => delivery.claimed)
      .map(({ teamId, eventId }) => teamKey(teamId, eventId)),
  );
  const held = events.filter(({ teamId, id }) => claimed.has(teamKey(teamId, id)));
  if (held.length > 0) tx.send(HOLD_EVENTS, [worker, ...columnsOf(held, ['teamId', 'id'])]);
  tx.send(MARK_FANNED_OUT, [at, ...columnsOf(events, ['teamId', 'id'])]);
}
