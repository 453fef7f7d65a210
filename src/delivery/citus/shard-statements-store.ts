/** What a shard's loop asks before a statement of the delivery loop. */
import { statement, type Statement } from '../../db/client.ts';
import { CLAIMS, FORGET_EVENTS, IS_FORGOTTEN, RELEASE_CLAIMS } from '../claim-store.ts';
import { IN_ORDER, TAKE_EVENTS } from '../fan-out-store.ts';
import { IS_UNPLACED, TAKE_UNPLACED } from '../places-store.ts';

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

/** A statement that acts on any team → what finds these teams in the shard, by the same values. */
export const HINTS: ReadonlyMap<Statement<unknown>, Statement<TeamRow>> = new Map<
  Statement<unknown>,
  Statement<TeamRow>
>([
  [RELEASE_CLAIMS, FIND_CLAIMS],
  [FORGET_EVENTS, FIND_EVENTS],
  [
    TAKE_EVENTS,
    statement<TeamRow>(
      'webhooks.findTeamsOfWaitingEvents',
      `select distinct team_id
       from (${IN_ORDER}
        limit $1
       ) picked`,
    ),
  ],
  [
    TAKE_UNPLACED,
    statement<TeamRow>(
      'places.findTeams',
      `select distinct team_id
       from (
         select team_id
         from event
         where ${IS_UNPLACED} and team_id <> all ($2::text[])
         order by created_at
         limit $1
       ) unplaced`,
    ),
  ],
]);
