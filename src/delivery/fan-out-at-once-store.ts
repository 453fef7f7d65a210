/** The fan-out of plain Postgres in one statement, for a worker that has little in hand. */
import { idFromStem } from '../core/ids.ts';
import { statement, type Db } from '../db/client.ts';
import { columnsOf } from './columns.ts';
import { subscribersText, type FanOutRow } from './fan-out-store.ts';

/** One event and one of its subscribers, with what became of it. */
interface FannedOutRow extends FanOutRow {
  /** A subscriber of the event is busy, so nothing of it was made. */
  readonly must_wait: boolean;
}

/** What the fan-out made of an event for one of its subscribers. */
interface MadeRow extends FannedOutRow {
  readonly id: string;
  readonly endpoint_id: string;
  readonly is_claimed: boolean;
}

/** Nothing was made: the event must wait, has no subscriber, or had the delivery already. */
interface UnmadeRow extends FannedOutRow {
  readonly id: null;
  readonly is_claimed: null;
}

// The events are marked by their places: the planner cannot know how many they are and would hash
// the table. The setting lets the statement commit without waiting for the disk, see result-store.
const FAN_OUT = statement<MadeRow | UnmadeRow>(
  'webhooks.fanOutAtOnce',
  `with subscriber as (
     ${subscribersText('asc')}
   ), planned as (
     select *, bool_or(is_busy) over (partition by team_id, event_id) as must_wait,
       ${idFromStem('$4::text', 'row_number() over in_order')} as id,
       row_number() over in_order as place,
       row_number() over (
         partition by team_id, endpoint_id
         order by event_created_at, event_id
       ) as turn
     from subscriber
     window in_order as (order by event_created_at, event_id, endpoint_id)
   ), made as (
     insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, created_at, next_try_at,
        claimed_by, first_worker)
     select p.team_id, p.id, p.endpoint_id, p.event_id, p.event_type, 'pending', $2, $2,
       own.worker, own.worker
     from planned p
     left join unnest($6::text[], $7::text[], $8::int[]) as known (team_id, endpoint_id, room)
       on known.team_id = p.team_id and known.endpoint_id = p.endpoint_id
     cross join lateral (
       select case when p.place <= $5::int and p.turn <= coalesce(known.room, 1) then $3::int end
     ) as own (worker)
     where p.endpoint_id is not null and not p.must_wait
     on conflict (team_id, endpoint_id, event_id) do nothing
     returning team_id, id, event_id, claimed_by is not null as is_claimed
   ), held as (
     insert into event_in_hand (team_id, event_id, worker)
     select distinct team_id, event_id, $3::int
     from made
     where is_claimed
     on conflict do nothing
   ), marked as (
     update event
     set fanned_out_at = $2
     where ctid = any (array(
       select e.ctid
       from planned p
       cross join lateral (
         select ctid
         from event
         where team_id = p.team_id and id = p.event_id
         limit 1
       ) e
       where not p.must_wait
     ))
   )
   select p.team_id, p.event_id, p.event_type, p.event_data, p.event_created_at,
     p.event_traceparent, p.endpoint_id, p.url, p.api_version, p.secret_encrypted,
     p.earlier_secrets_encrypted, p.is_busy, p.must_wait, made.id, made.is_claimed,
     set_config('synchronous_commit', 'off', true)
   from planned p
   left join made on made.team_id = p.team_id and made.id = p.id
   order by p.place`,
);

/** What to fan out, and what this worker has room for. */
export interface FanOutAtOnce {
  readonly at: Date;
  readonly worker: number;
  /** The most events. */
  readonly limit: number;
  /** See `newIdStem`. */
  readonly idStem: string;
  /** The most deliveries to claim. */
  readonly capacity: number;
  /** How many to claim of endpoints that have others in hand. Of all others it is one. */
  readonly rooms: readonly {
    readonly teamId: string;
    readonly endpointId: string;
    readonly room: number;
  }[];
}

/**
 * Takes the oldest events that wait, inserts their deliveries, claims some of these for the worker,
 * and marks the events. Returns one row for each subscriber of an event, and one for an event
 * without any. Events and endpoints that others have locked are not waited for.
 */
export function fanOutInOne(
  db: Db,
  { at, worker, limit, idStem, capacity, rooms }: FanOutAtOnce,
): Promise<(MadeRow | UnmadeRow)[]> {
  const known = columnsOf(rooms, ['teamId', 'endpointId', 'room']);
  return db.query(FAN_OUT, [limit, at, worker, idStem, capacity, ...known]);
}
