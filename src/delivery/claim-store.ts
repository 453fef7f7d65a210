/**
 * Claims on deliveries. `claimed_by` is the number of the worker that has the delivery in hand. A
 * living worker holds an advisory lock on (WORKER_LOCK_CLASS, its number) in a session of its own.
 * The lock ends with the session, however the worker ends.
 *
 * A delivery that is claimed at insert is found by its event, which `event_in_hand` keeps
 * meanwhile: no index has that claim, so the result of a healthy first attempt is written without
 * touching any. All other claims are found by an index (`held_by`).
 */
import type { TeamKey } from '../core/team-key.ts';
import { statement, type Db } from '../db/client.ts';
import { listed, type RowOf } from '../db/rows.ts';
import { WAITING, type WaitingStatus } from './waiting-store.ts';

/** The first key of the advisory locks of workers; the second one is the worker's number. */
export const WORKER_LOCK_CLASS = 0x77686b;

/** SQL: whether a row of pg_locks is the lock of a worker, whose number is its `objid`. */
export const IS_WORKER_LOCK = `locktype = 'advisory'
         and classid = ${WORKER_LOCK_CLASS}
         and objsubid = 2
         and database = (select oid from pg_database where datname = current_database())`;

const LIST_WORKERS = statement<{ readonly number: number; readonly at: string }>(
  'webhooks.listWorkers',
  `select objid::int as number, date_trunc('milliseconds', clock_timestamp()) as at
   from pg_locks
   where ${IS_WORKER_LOCK}`,
);

/** Returns the numbers of the workers that are alive, each with the time of the database. */
export function listWorkersNow(db: Db): Promise<{ number: number; at: string }[]> {
  return db.query(LIST_WORKERS, []);
}

/** Returns the numbers of the workers that are alive. */
export async function listWorkers(db: Db): Promise<number[]> {
  return (await listWorkersNow(db)).map((row) => row.number);
}

const OF_DELIVERY = [
  'team_id',
  'id',
  'endpoint_id',
  'event_id',
  'event_type',
  'status',
  'attempt',
  // Those of the attempts that used up the schedule.
  'scheduled_attempts',
  'next_try_at',
  'urgent',
  // A resend asks for this attempt.
  'resent',
] as const;
const OF_ENDPOINT = [
  'url',
  'api_version',
  'secret_encrypted',
  'earlier_secrets_encrypted',
] as const;

/** A delivery that this worker has claimed, with all that an attempt needs. */
export interface ClaimedDelivery
  extends
    RowOf<'WebhookDelivery', (typeof OF_DELIVERY)[number]>,
    RowOf<'WebhookEndpoint', (typeof OF_ENDPOINT)[number]> {
  readonly event_data: string;
  /** Whether the attempt may send the personal fields of `event_data`; see SHOWS_PERSON. */
  readonly shows_person: boolean | null;
  readonly event_created_at: string;
  /** The trace of the call that raised the event; null: it is not traced. */
  readonly event_traceparent: string | null;
}

// The schedule sends the same bytes at every attempt until somebody asks for another one. What is
// sent again obeys the switch of now, because the URL may be another one. A deletion takes the
// address from all memberships of the person; the end of a membership leaves it.
const SHOWS_PERSON = `case
        when d.resent or (d.urgent and d.status <> 'pending') or d.attempt > d.scheduled_attempts
        then (
          select t.member_detail_enabled and (
            e.data ->> 'user_id' is null
            or exists (
              select
              from member m
              where m.team_id = d.team_id
                and m.user_id = e.data ->> 'user_id'
                and m.email is not null
            )
          )
          from team t
          where t.id = d.team_id
        )
        else true
      end`;

/**
 * Claims the deliveries whose ctid `picked` selects, for the worker $1. The planner cannot know how
 * many these are and would hash whole tables. The ctid and `limit 1` make it fetch each row by its
 * place or its key.
 */
function claimText(picked: string): string {
  return `with claimed as (
      update webhook_delivery d
      set claimed_by = $1, first_worker = null
      where ctid = any (array(${picked}))
      returning d.*
    )
    select ${listed(OF_DELIVERY, 'd.')},
      ${listed(OF_ENDPOINT, 'w.')},
      e.data::text as event_data, e.created_at as event_created_at,
      e.traceparent as event_traceparent, ${SHOWS_PERSON} as shows_person
    from claimed d
    cross join lateral (
      select *
      from webhook_endpoint
      where team_id = d.team_id and id = d.endpoint_id
      limit 1
    ) w
    cross join lateral (
      select *
      from event
      where team_id = d.team_id and id = d.event_id
      limit 1
    ) e
    order by d.id`;
}

// Each endpoint is one range of the index of waiting deliveries, and only its share is read. So a
// backlog of 100,000 costs what one of ten does.
function claimDueText(status: WaitingStatus): string {
  const { isWaiting, order, endpoint, isDue } = WAITING[status];
  return claimText(
    `
      select d.ctid
      from unnest($2::text[], $3::text[], $4::int[]) as share (team_id, endpoint_id, room)
      cross join lateral (
        select
        from webhook_endpoint
        where team_id = share.team_id and id = share.endpoint_id and ${endpoint}
        limit 1
      ) w
      cross join lateral (
        select ctid
        from webhook_delivery
        where team_id = share.team_id and endpoint_id = share.endpoint_id
          and ${isWaiting} and ${isDue('due_at', '$5')}
        order by ${order}
        limit share.room
        for update skip locked
      ) d`,
  );
}

const CLAIM_DUE = {
  requested: statement<ClaimedDelivery>('webhooks.claimRequested', claimDueText('requested')),
  pending: statement<ClaimedDelivery>('webhooks.claimPending', claimDueText('pending')),
  retrying: statement<ClaimedDelivery>('webhooks.claimRetrying', claimDueText('retrying')),
};

/** What `claimDue` claims, and for whom. */
export interface ClaimOptions {
  readonly worker: number;
  /** The endpoints to claim for, and how many deliveries of each at most. */
  readonly shares: readonly {
    readonly queue: { readonly teamId: string; readonly endpointId: string };
    readonly room: number;
  }[];
  readonly now: Date;
}

/** Claims due deliveries of the endpoints, those that wait in the given way. */
export function claimDue(
  db: Db,
  status: WaitingStatus,
  { worker, shares, now }: ClaimOptions,
): Promise<ClaimedDelivery[]> {
  const teamIds = shares.map(({ queue }) => queue.teamId);
  const endpointIds = shares.map(({ queue }) => queue.endpointId);
  const rooms = shares.map(({ room }) => room);
  return db.query(CLAIM_DUE[status], [worker, teamIds, endpointIds, rooms, now]);
}

// Whatever releases claims skips rows that another transaction has locked. Otherwise two that lock
// several rows in different orders would deadlock, and the delivery loop would wait for one tenant.
const RELEASE = statement<{ readonly id: string }>(
  'webhooks.release',
  `update webhook_delivery
   set claimed_by = null
   where ctid = any (array(
     select d.ctid
     from unnest($2::text[], $3::text[]) as n (team_id, id)
     cross join lateral (
       select ctid
       from webhook_delivery
       where team_id = n.team_id and id = n.id and claimed_by = $1
       limit 1
       for no key update skip locked
     ) d
   ))
   returning id`,
);

/**
 * Releases deliveries that were claimed and not attempted. Returns whether all of them are free
 * now. Others may be locked or gone; `releaseForgotten` finds the locked ones later.
 */
export async function releaseClaims(
  db: Db,
  worker: number,
  claims: readonly { team_id: string; id: string }[],
): Promise<boolean> {
  const teamIds = claims.map((claim) => claim.team_id);
  const ids = claims.map((claim) => claim.id);
  return (await db.query(RELEASE, [worker, teamIds, ids])).length === claims.length;
}

/** A released delivery's endpoint, and what it waits for. */
export type ReleasedClaim = RowOf<
  'WebhookDelivery',
  'team_id' | 'endpoint_id' | 'status' | 'urgent'
>;

/** SQL: the deliveries of the event in hand `h` that its worker still has. */
const firstClaimsText = (columns: string): string => `
           select ${columns}
           from webhook_delivery
           where team_id = h.team_id and event_id = h.event_id
             and claimed_by = h.worker and first_worker = h.worker
           offset 0`;

/** SQL: the places of the deliveries that the workers $1 have claimed. */
export const CLAIMS = `
       select ctid
       from webhook_delivery
       where held_by = any ($1::int[])
       union all
       select d.ctid
       from event_in_hand h
       cross join lateral (${firstClaimsText('ctid')}
       ) d
       where h.worker = any ($1::int[])`;

/**
 * SQL: the delivery is not among those of $2, as `teamKey` writes them. They are thousands, which a
 * plan without the values would compare one by one if it said `<> all`.
 */
export const IS_FORGOTTEN = 'team_id || chr(10) || id not in (select unnest($2::text[]))';

export const RELEASE_CLAIMS = statement<ReleasedClaim>(
  'webhooks.releaseClaims',
  `update webhook_delivery
   set claimed_by = null
   where ctid = any (array(
     select ctid
     from webhook_delivery
     where ctid = any (array(${CLAIMS}))
       and claimed_by = any ($1::int[])
       and ${IS_FORGOTTEN}
     for no key update skip locked
   ))
   returning team_id, endpoint_id, status, urgent`,
);

/**
 * Releases this worker's claims that are not in `inHand`. The worker does not know of such a claim,
 * because the database's answer was lost.
 */
export function releaseForgotten(
  db: Db,
  worker: number,
  inHand: readonly TeamKey[],
): Promise<ReleasedClaim[]> {
  return db.query(RELEASE_CLAIMS, [[worker], inHand]);
}

/** Notes the events of which the worker claims deliveries as they are inserted. */
export const HOLD_EVENTS = statement(
  'webhooks.holdEvents',
  `insert into event_in_hand (team_id, event_id, worker)
   select n.team_id, n.event_id, $1::int
   from unnest($2::text[], $3::text[]) as n (team_id, event_id)
   on conflict do nothing`,
);

export const FORGET_EVENTS = statement(
  'webhooks.forgetEvents',
  `delete from event_in_hand
   where ctid = any (array(
     select ctid
     from event_in_hand h
     where worker = any ($1::int[])
       and not exists (${firstClaimsText('')}
       )
     for update skip locked
   ))`,
);

/**
 * Forgets the events of which the worker has no first attempt in hand any more. Call it in a round,
 * so that no fan-out runs beside it.
 */
export async function forgetEvents(db: Db, worker: number): Promise<void> {
  await db.query(FORGET_EVENTS, [[worker]]);
}

/** Finds the workers that have claims, then those of them that have no lock. */
export const FIND_DEAD = statement<{ readonly worker: number }>(
  'webhooks.findDead',
  `with recursive held (worker) as (
     select min(held_by)
     from webhook_delivery
     where held_by is not null
     union all
     select (
       select min(held_by)
       from webhook_delivery
       where held_by > held.worker
     )
     from held
     where held.worker is not null
   ), in_hand (worker) as (
     select min(worker)
     from event_in_hand
     union all
     select (
       select min(worker)
       from event_in_hand
       where worker > in_hand.worker
     )
     from in_hand
     where in_hand.worker is not null
   )
   select worker
   from (select * from held union select * from in_hand) known
   where worker is not null
     and worker not in (
       select objid::bigint
       from pg_locks
       where ${IS_WORKER_LOCK}
     )`,
);

/** Releases the claims of dead workers. */
export async function releaseDead(db: Db): Promise<ReleasedClaim[]> {
  const dead = await db.query(FIND_DEAD, []);
  if (dead.length === 0) return [];
  const workers = dead.map(({ worker }) => worker);
  const released = await db.query(RELEASE_CLAIMS, [workers, []]);
  await db.query(FORGET_EVENTS, [workers]);
  return released;
}

/** What a sandbox says about its webhook endpoints. */
export type PlayedRow = RowOf<'Sandbox', 'speed' | 'receivers_fail_until'>;

/** null: the sandbox has gone. */
export const readPlayed = statement<PlayedRow>(
  'webhooks.readPlayed',
  'select speed, receivers_fail_until from sandbox where team_id = $1',
).finds<[db: Db, sandboxId: string]>();
