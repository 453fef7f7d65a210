/** What a shard's loop asks beside a statement of the delivery loop, or instead of it. */
import { statement, type Statement } from '../../db/client.ts';
import { CLAIMS, FORGET_EVENTS, IS_FORGOTTEN, RELEASE_CLAIMS } from '../claim-store.ts';
import { TAKE_EVENTS } from '../fan-out-store.ts';
import { IS_UNPLACED, TAKE_UNPLACED } from '../places-store.ts';
import { ATTEMPTS_KEPT, KEEP_FAILED } from '../result-store.ts';

export interface TeamRow {
  readonly team_id: string;
}

const FIND_CLAIMS = statement<TeamRow>(
  'webhooks.findTeamsOfClaims',
  `select distinct team_id
   from webhook_delivery
   where ctid = any (array(${CLAIMS}))
     and ${IS_FORGOTTEN}`,
);

const FIND_EVENTS = statement<TeamRow>(
  'webhooks.findTeamsOfEvents',
  `select distinct team_id
   from event_in_hand
   where worker = any ($1::int[])`,
);

const findWaitingTeamsText = (order: 'asc' | 'desc'): string =>
  `select distinct team_id
   from (
     select team_id
     from event
     where fanned_out_at is null
     order by created_at ${order}
     limit $1
   ) waiting`;

/** A statement that acts on any team → what finds these teams in the shard, by the same values. */
export const HINTS: ReadonlyMap<Statement<unknown>, Statement<TeamRow>> = new Map<
  Statement<unknown>,
  Statement<TeamRow>
>([
  [RELEASE_CLAIMS, FIND_CLAIMS],
  [FORGET_EVENTS, FIND_EVENTS],
  [
    TAKE_EVENTS.oldest,
    statement<TeamRow>('webhooks.findTeamsOfOldestEvents', findWaitingTeamsText('asc')),
  ],
  [
    TAKE_EVENTS.newest,
    statement<TeamRow>('webhooks.findTeamsOfNewestEvents', findWaitingTeamsText('desc')),
  ],
  [
    TAKE_UNPLACED,
    statement<TeamRow>(
      'places.findTeams',
      `select distinct team_id
       from (
         select team_id
         from event
         where ${IS_UNPLACED}
         order by created_at
         limit $1
       ) unplaced`,
    ),
  ],
]);

// Citus wants the two halves of KEEP_FAILED apart, and wants the inserted team to be a table's.
const KEEP_FAILED_OF_SHARD = statement(
  'webhooks.keepFailedOfShard',
  `insert into webhook_attempt
     (team_id, delivery_id, attempt, ended_at, response_code, response_ms, error)
   select d.team_id, d.id, n.attempt, n.at, n.response_code, n.response_ms, n.error
   from unnest($2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::int[], $7::int[],
       $8::text[])
     as n (team_id, id, attempt, at, response_code, response_ms, error)
   join webhook_delivery d on d.team_id = n.team_id and d.id = n.id
   where d.claimed_by = $1 and d.attempt = n.attempt - 1
   for key share of d
   on conflict (team_id, delivery_id, attempt) do update
   set ended_at = excluded.ended_at,
     response_code = excluded.response_code,
     response_ms = excluded.response_ms,
     error = excluded.error`,
);

const DROP_OLD_FAILED = statement(
  'webhooks.dropOldFailed',
  `delete from webhook_attempt a
   using unnest($1::text[], $2::text[], $3::int[]) as n (team_id, id, attempt)
   where n.attempt > ${ATTEMPTS_KEPT}
     and a.team_id = n.team_id
     and a.delivery_id = n.id
     and a.attempt <= n.attempt - ${ATTEMPTS_KEPT}`,
);

/** What is sent instead of a statement. */
export function instead(
  what: Statement<unknown>,
  values: readonly unknown[],
): (readonly [Statement<unknown>, readonly unknown[]])[] {
  if (what !== KEEP_FAILED) return [[what, values]];
  const [, teamIds, ids, attempts] = values;
  const isOld = (attempts as number[]).some((attempt) => attempt > ATTEMPTS_KEPT);
  const dropped = [DROP_OLD_FAILED, [teamIds, ids, attempts]] as const;
  return [[KEEP_FAILED_OF_SHARD, values], ...(isOld ? [dropped] : [])];
}
