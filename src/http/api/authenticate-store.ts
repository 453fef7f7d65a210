import type { MemberStatus, Role } from '../../core/actor.ts';
import { statement, type Queries } from '../../db/client.ts';
import type { TeamRow } from './team-facts.ts';

/** What the counters of a request say. */
interface RateRow {
  /** False: a bucket is full, and this request was not counted. */
  readonly counted: boolean;
  readonly bucket_limit: number;
  readonly bucket_remaining: number;
  readonly reset_s: number;
}

/** A valid key with its creator and its team. */
export interface KeyRow extends TeamRow {
  readonly key_id: string;
  readonly team_id: string;
  /** Separated by spaces: an array costs a parser of its own. */
  readonly scopes: string;
  readonly creator_id: string;
  readonly creator_role: Role;
  readonly creator_status: MemberStatus;
}

/** A request that was counted for its key and its team. */
export type AdmittedRow = RateRow & KeyRow;

/** Without a valid key, `key_id` and the other columns of the key are null. */
export type AuthenticationRow = AdmittedRow | (RateRow & { readonly key_id: null });

const AUTHENTICATE = statement<AuthenticationRow>(
  'http.authenticate',
  'select * from authenticate_request($1, $2, $3, $4, $5, $6, $7, $8)',
);

/** What all requests of a process have in common. */
export interface AuthenticationTerms {
  readonly nonce: Buffer;
  readonly keyPerMinute: number;
  readonly ipPerMinute: number;
  /** null: the clock of the database. */
  readonly now: Date | null;
}

/**
 * Looks up a key and counts the request, in one round trip. See `authenticate_request` in the
 * migrations.
 */
export async function authenticateRequest(
  db: Queries,
  request: AuthenticationTerms & {
    /** null: there is no key, or it is malformed. */
    readonly keyPrefix: string | null;
    /** SHA-256 of the hash of the key's secret and the nonce. */
    readonly proof: Buffer;
    readonly ip: string | null;
    /** The team of the prefix, if it is known: saves a look into the directory. */
    readonly teamId: string | null;
  },
): Promise<AuthenticationRow> {
  const { keyPrefix, nonce, proof, ip, keyPerMinute, ipPerMinute, now, teamId } = request;
  const values = [keyPrefix, nonce, proof, ip, keyPerMinute, ipPerMinute, now, teamId];
  const row = await db.queryFirst(AUTHENTICATE, values);
  if (!row) throw new Error('authenticate_request returned no row');
  return row;
}

// What authenticate_request does in the usual case, for many keys in one statement: the key is
// valid, and both counters have room in this minute. A key that it does not return was not counted
// and is asked for alone. So is one whose counters somebody else holds: this statement waits for no
// lock, and no team for another one. The counters of a key and a team are locked in the same order
// as there. Each team may be given only once.
const AUTHENTICATE_TOGETHER = statement<AdmittedRow>(
  'http.authenticateTogether',
  `with clock as materialized (
     select at, floor(extract(epoch from at) / 60)::int as minute,
       (60 - floor(extract(epoch from at))::bigint % 60)::int as reset_s
     from (select coalesce($7::timestamptz, clock_timestamp()) as at) now
   ), known as materialized (
     select clock.minute, clock.reset_s, n.calls, k.prefix, k.id as key_id, k.team_id, k.scopes,
       k.created_by as creator_id, m.role as creator_role, m.status as creator_status,
       t.plan, t.status as team_status, t.language, t.rate_limit_per_min,
       t.member_detail_enabled, t.leaderboard_enabled
     from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::int[])
       as n (team_id, prefix, proof, ip, calls)
     cross join clock
     join api_key k on k.team_id = n.team_id and k.prefix = n.prefix
     join team t on t.id = k.team_id
     join member m on m.team_id = k.team_id and m.id = k.created_by
     where n.proof = sha256(k.secret_hash || $6)
       and (k.revoked_at is null or k.revoked_at > clock.at)
       and (k.expires_at is null or k.expires_at > clock.at)
       and (k.allowed_ips is null or n.ip::inet <<= any (k.allowed_ips))
   ), room as materialized (
     select known.*,
       $8 - of_key.count - calls as key_remaining,
       rate_limit_per_min - of_keys.count - calls as team_remaining
     from known
     join team_counter of_key on of_key.team_id = known.team_id
       and of_key.bucket = 'key:' || known.prefix
       and of_key.minute = known.minute
       and of_key.count <= $8 - calls
     join team_counter of_keys on of_keys.team_id = known.team_id
       and of_keys.bucket = 'keys'
       and of_keys.minute = known.minute
       and of_keys.count <= rate_limit_per_min - calls
     for update of of_key, of_keys skip locked
   ), counted as (
     update team_counter c
     set count = c.count + r.calls
     from room r
     where c.team_id = r.team_id and c.bucket = any (array['keys', 'key:' || r.prefix])
   )
   select key_id, team_id, array_to_string(scopes, ' ') as scopes,
     creator_id, creator_role, creator_status, plan, team_status, language, rate_limit_per_min,
     member_detail_enabled, leaderboard_enabled,
     true as counted,
     -- The tighter of the two is the one with less left, and of equals the smaller one.
     case when key_is_tighter then $8 else rate_limit_per_min end as bucket_limit,
     case when key_is_tighter then key_remaining else team_remaining end as bucket_remaining,
     reset_s
   from (
     select *, (key_remaining, $8) <= (team_remaining, rate_limit_per_min) as key_is_tighter
     from room
   ) r`,
);

/** The requests of one key from one address. */
export interface CallsOfKey {
  readonly teamId: string;
  readonly keyPrefix: string;
  readonly proof: Buffer;
  readonly ip: string | null;
  readonly calls: number;
}

/**
 * Looks up the keys of several teams and counts their requests, in one statement that waits for
 * nobody. Returns a row for each key with a usual request; the others were not counted. The rate is
 * the one after the last of the key's calls. Only for plain Postgres.
 */
export function authenticateTogether(
  db: Pick<Queries, 'query'>,
  { nonce, keyPerMinute, now }: AuthenticationTerms,
  keys: readonly CallsOfKey[],
): Promise<AdmittedRow[]> {
  return db.query(AUTHENTICATE_TOGETHER, [
    keys.map(({ teamId }) => teamId),
    keys.map(({ keyPrefix }) => keyPrefix),
    keys.map(({ proof }) => proof),
    keys.map(({ ip }) => ip),
    keys.map(({ calls }) => calls),
    nonce,
    now,
    keyPerMinute,
  ]);
}
