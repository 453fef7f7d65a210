import { statement, type Db } from '../db/client.ts';

/** What decides whether a delivery may name a person when it is sent again. */
export interface ShownNow {
  readonly member_detail_enabled: boolean;
  /** The host application has not deleted the person. */
  readonly is_known: boolean;
}

// A deletion takes the address from all memberships of the person. The end of a membership leaves
// it.
/** null: the team has gone. */
export const readShownNow = statement<ShownNow>(
  'webhooks.readShownNow',
  `select t.member_detail_enabled,
     $2::text is null or exists (
       select
       from member m
       where m.team_id = $1 and m.user_id = $2 and m.email is not null
     ) as is_known
   from team t
   where t.id = $1`,
).finds<[db: Db, teamId: string, userId: string | null]>();
