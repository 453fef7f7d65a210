import { teamKey } from '../core/team-key.ts';
import { statement, type Db, type Tx } from '../db/client.ts';
import type { Parameter } from '../db/keyset.ts';
import { holdUnlessLocked } from '../db/row-lock.ts';
import type { RowOf } from '../db/rows.ts';
import { columnsOf } from './columns.ts';
import { NO_WAIT_FOR_DISK } from './result-store.ts';

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
  /** How far back a fair fan-out has looked for events; null of the others. */
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

/** Which events a fan-out takes: the next ones from one end, or those of all teams in turn. */
export type Which = 'oldest' | 'newest' | 'fair';

/** SQL: the event is not older than the parameter; null: whenever it was created. */
export const isNotBefore = (parameter: Parameter): string =>
  `created_at >= coalesce(${parameter}::timestamptz, '-infinity')`;

/** SQL: locks the next $1 events that wait, from one end. None is older than $2. */
const fromEnd = (order: 'asc' | 'desc'): string => `
      select *, null::timestamptz as reached
      from event
      where fanned_out_at is null and ${isNotBefore('$2')}
      order by created_at ${order}
      limit $1
      for update skip locked`;

/** How many events that wait are looked at for those of each team. Takes 1 ms. */
const LOOKED_AT = 700;

/** SQL: the newest of the events that wait, or of some of them. None is older than $2. */
const newest = (condition: string): string => `
              select team_id, id, created_at
              from event
              where fanned_out_at is null and ${isNotBefore('$2')}${condition}
              order by created_at desc
              limit ${LOOKED_AT / 2}`;

/**
 * SQL: events, the first of each team before the second of any; small teams first. `reached` is how
 * far back they were looked for. None is older than $2.
 */
// Among the newest, because among the oldest a team that has flooded stands alone for long. And
// among those before $3, where the last look has ended, so that all have their turn.
export const IN_TURNS = `
        select team_id, id, reached
        from (
          select team_id, id, created_at,
            row_number() over (partition by team_id order by created_at, id) as turn,
            count(*) over (partition by team_id) as waiting,
            min(created_at) over () as reached
          from (
            (${newest('')}
            )
            union
            (${newest(' and created_at < $3::timestamptz')}
            )
          ) near
        ) ranked
        order by turn, waiting, created_at, team_id`;

// The limit is outside, so that those of another worker are passed over.
const OF_EACH = `
      select own.*, picked.reached
      from (${IN_TURNS}
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
const takeEventsText = (events: string): string =>
  `select e.team_id, e.id as event_id, e.type as event_type, e.data::text as event_data,
      e.created_at as event_created_at, e.traceparent as event_traceparent,
      w.id as endpoint_id, w.url, w.api_version, w.secret_encrypted, w.earlier_secrets_encrypted,
      w.status = 'active' as is_active, w.id is not null and own.is_held is null as is_busy,
      e.reached
    from (${events}
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
   order by e.created_at, e.id, w.id`;

export const TAKE_EVENTS = {
  oldest: statement<FanOutRow>('webhooks.takeOldestEvents', takeEventsText(fromEnd('asc'))),
  newest: statement<FanOutRow>('webhooks.takeNewestEvents', takeEventsText(fromEnd('desc'))),
  fair: statement<FanOutRow>('webhooks.takeEventsOfEachTeam', takeEventsText(OF_EACH)),
} as const satisfies Readonly<Record<Which, unknown>>;

const FIND_OLDEST = statement<{ readonly created_at: string }>(
  'webhooks.findOldestEvent',
  `select created_at
   from event
   where fanned_out_at is null
   order by created_at
   limit 1`,
);

/** When the oldest event that waits for its fan-out was created; null: none waits. */
export async function findOldestWaiting(db: Db): Promise<Date | null> {
  const oldest = await db.queryFirst(FIND_OLDEST, []);
  return oldest && new Date(oldest.created_at);
}

/** How many events to take, none older than `from`. `before`: where a fair look goes on (ISO). */
export interface WaitingRange {
  readonly limit: number;
  readonly from: Date | null;
  readonly before: string | null;
}

/**
 * Takes events that wait for their fan-out, one row for each subscriber. They stay locked until the
 * transaction ends; other workers skip them.
 */
export function takeEvents(
  tx: Tx,
  which: Which,
  { limit, from, before }: WaitingRange,
): Promise<FanOutRow[]> {
  return tx.query(TAKE_EVENTS[which], [limit, from, ...(which === 'fair' ? [before] : [])]);
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

const HOLD_EVENTS = statement(
  'webhooks.holdEvents',
  `insert into event_in_hand (team_id, event_id, worker)
   select n.team_id, n.event_id, $1::int
   from unnest($2::text[], $3::text[]) as n (team_id, event_id)
   on conflict do nothing`,
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
