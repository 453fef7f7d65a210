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

/** Its state at a time. The conditions are those of `authenticate_request`. */
export function keyStateAt(at: string): string {
  return `case
       when k.revoked_at <= ${at} then 'revoked'
       when k.expires_at <= ${at} then 'expired'
       else 'active'
     end`;
}
