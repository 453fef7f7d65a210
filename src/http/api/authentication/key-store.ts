import type { MemberStatus, Role } from '../../../core/actor.ts';
import { modeOfPrefix } from '../../../core/api-key.ts';
import { modeOf } from '../../../core/sandbox.ts';
import { statement, type Queries } from '../../../db/client.ts';
import { TEAM_COLUMNS, type TeamRow } from './team-facts.ts';

/** What the counters of a request say. */
interface RateRow {
  /** False: a bucket is full, and this request was not counted. */
  readonly counted: boolean;
  readonly bucket_limit: number;
  readonly bucket_remaining: number;
  /** Of the key's or of the team's limit, whichever is more; null without a valid key. */
  readonly used_percent: number | null;
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

const COLUMNS = `key_id, team_id, scopes, creator_id, creator_role, creator_status,
     ${TEAM_COLUMNS},
     counted, bucket_limit, bucket_remaining, used_percent, reset_s`;

/** A request with a valid key. */
export type AdmittedRow = RateRow & KeyRow;

/** Why a key is not valid: its public part is unknown, its secret is wrong, and so on. */
export type KeyFault = 'unknown' | 'wrong_secret' | 'revoked' | 'expired' | 'other_address';

/** Without a valid key, `key_id` and the other columns of the key are null. */
export type AuthenticationRow =
  | (AdmittedRow & { readonly key_fault: null })
  | (RateRow & { readonly key_id: null; readonly key_fault: KeyFault });

const AUTHENTICATE = statement<AuthenticationRow>(
  'http.authenticate',
  `select ${COLUMNS}, key_fault
   from authenticate_api_key($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
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
 * Looks up a key and counts the request, in one round trip.
 *
 * Every kind of bad key runs the same statement with the same comparison, so that the response time
 * tells nothing about a key (see `authenticate_api_key` in prisma/functions).
 */
export async function authenticateRequest(
  db: Queries,
  request: AuthenticationTerms & {
    /** null: there is no key, or it is malformed. */
    readonly keyPrefix: string | null;
    /** SHA-256 of the hash of the key's secret and the nonce. */
    readonly proof: Buffer;
    readonly ip: string | null;
    /** The address that the request counts for without a valid key; `ip` by default. */
    readonly counted?: string | null;
    /** The team of the prefix, if it is known: saves a lookup in `key_directory`. */
    readonly teamId: string | null;
  },
): Promise<AuthenticationRow> {
  const {
    keyPrefix,
    nonce,
    proof,
    ip,
    keyPerMinute,
    ipPerMinute,
    now,
    teamId,
    counted = ip,
  } = request;
  const values = [keyPrefix, nonce, proof, ip, keyPerMinute, ipPerMinute, now, teamId, counted];
  const row = await db.queryFirst(AUTHENTICATE, values);
  if (!row) throw new Error('authenticate_api_key returned no row');
  if (row.key_id === null || keyPrefix === null) return row;
  // Constraints of the database say so, too. Whatever has become of them, the kinds stay apart.
  const isOfKind = modeOfPrefix(keyPrefix) === modeOf(row.team_id);
  return isOfKind ? row : { ...row, key_id: null, key_fault: 'unknown' };
}

// The same facts as of `authenticate_api_key`, by the same clock.
const READ_KEY = statement<KeyRow>(
  'http.readKey',
  `select k.id as key_id, k.team_id, array_to_string(k.scopes, ' ') as scopes,
     k.created_by as creator_id, m.role as creator_role, m.status as creator_status,
     t.plan, t.language, t.rate_limit_per_min,
     case
       when t.status = 'suspended' and exists (
         select
         from sandbox s
         where s.team_id = $1 and s.suspended_until <= coalesce($4, clock_timestamp())
       ) then 'active'
       else t.status
     end as team_status,
     t.member_detail_enabled, t.leaderboard_enabled
   from api_key k
   join team t on t.id = $1
   join member m on m.team_id = $1 and m.id = k.created_by
   where k.team_id = $1
     and k.id = $2
     and (k.revoked_at is null or k.revoked_at > coalesce($4, clock_timestamp()))
     and (k.expires_at is null or k.expires_at > coalesce($4, clock_timestamp()))
     and (k.allowed_ips is null or coalesce($3::inet <<= any (k.allowed_ips), false))`,
);

/** Reads a key that was valid for this address; null if it is not any more. Counts nothing. */
export function readKey(
  db: Queries,
  {
    teamId,
    keyId,
    ip,
    now,
  }: Pick<AuthenticationTerms, 'now'> & {
    readonly teamId: string;
    readonly keyId: string;
    readonly ip: string | null;
  },
): Promise<KeyRow | null> {
  return db.queryFirst(READ_KEY, [teamId, keyId, ip, now]);
}

const AUTHENTICATE_BATCH = statement<AdmittedRow>(
  'http.authenticateBatch',
  `select ${COLUMNS}
   from authenticate_api_keys($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** Requests of one key from one address. */
export interface KeyCalls {
  readonly teamId: string;
  readonly keyPrefix: string;
  readonly proof: Buffer;
  readonly ip: string | null;
  readonly calls: number;
}

/**
 * Looks up the keys of several teams and counts their requests, in one statement that waits for no
 * lock. Returns a row for each valid key that was counted before, is below its limits and whose
 * counters nobody has locked. The others were not counted, and must be asked for one by one.
 * `bucket_remaining` is what is left after all calls of the key. Each team may be given only once.
 * Only for plain Postgres. See `authenticate_api_keys` in prisma/functions.
 */
export function authenticateBatch(
  db: Pick<Queries, 'query'>,
  { nonce, keyPerMinute, now }: AuthenticationTerms,
  keys: readonly KeyCalls[],
): Promise<AdmittedRow[]> {
  return db.query(AUTHENTICATE_BATCH, [
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
