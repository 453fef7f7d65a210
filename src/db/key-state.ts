/** SQL of what is known of a key besides its row, for a key `k` of the team `$1`. */

/** When it was used last: the counter knows it before the row does. */
export const LAST_USED = `greatest(
       k.last_used_at,
       (
         select to_timestamp(c.minute * 60::float8)
         from team_counter c
         where c.team_id = $1 and c.bucket = 'key:' || k.prefix
       )
     )`;

/** Its state at a time. The conditions are those of `authenticate_api_key`. */
export function keyStateAt(at: string): string {
  return `case
       when k.revoked_at <= ${at} then 'revoked'
       when k.expires_at <= ${at} then 'expired'
       else 'active'
     end`;
}

/** More than any team may have (`core/team-limits.ts`). */
const LIVE_MAX = 1_000;
/** When it ends or has ended; infinity: never. */
const ENDS_AT = `coalesce(least(k.revoked_at, k.expires_at), 'infinity')`;

/**
 * The live keys of the team at a time. The planner cannot know that they are few of very many. So
 * there is an order and a limit: they make it read `api_key_end_idx`, and nothing that has ended.
 */
export function liveKeysAt(at: string): string {
  return `lateral (
       select k.*
       from api_key k
       where k.team_id = $1 and ${ENDS_AT} > ${at}
       order by ${ENDS_AT} desc
       limit ${LIVE_MAX}
     )`;
}
