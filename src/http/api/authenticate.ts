import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { parseApiKey } from '../../core/api-key.ts';
import type { ApiKeyActor, MemberStatus, Role } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import { hasApi } from '../../core/plans.ts';
import { privacyOf, type Privacy } from '../../core/privacy.ts';
import type { Scope } from '../../core/scopes.ts';
import { statement, type Db } from '../../db/client.ts';
import { hashSecret } from '../../core/api-key.ts';
import type { TeamFacts } from '../../trpc/context.ts';

/** The bucket that the response's headers show. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetS: number;
}

export interface Tenant {
  readonly actor: ApiKeyActor;
  readonly team: TeamFacts;
  readonly privacy: Privacy;
  /** False: suspended, ended, or on a plan without the API. */
  readonly enabled: boolean;
}

export interface Authentication {
  /** null: no valid key. */
  readonly tenant: Tenant | null;
  readonly rate: RateState;
  /** False: the bucket is full, and this request was not counted. */
  readonly counted: boolean;
}

export interface RateLimits {
  readonly keyPerMinute: number;
  readonly ipPerMinute: number;
}

/** Requests without a valid key, per minute and caller address (decisions 30). */
export const IP_RATE_LIMIT_PER_MINUTE = 120;

const NO_SECRET = hashSecret('');

interface Row {
  key_id: string | null;
  team_id: string;
  /** Separated by spaces: an array costs a parser of its own. */
  scopes: string;
  creator_id: string;
  creator_role: Role;
  creator_status: MemberStatus;
  plan: string;
  team_status: string;
  language: Language;
  rate_limit_per_min: number;
  member_detail_enabled: boolean;
  leaderboard_enabled: boolean;
  counted: boolean;
  bucket_limit: number;
  bucket_remaining: number;
  reset_s: number;
}

const AUTHENTICATE = statement<Row>(
  'http.authenticate',
  'select * from authenticate_request($1, $2, $3, $4, $5, $6, $7)',
);

/**
 * Who calls, what they may, and how much is left, in one round trip. Nothing of a key is kept past its request, so a revocation holds at the next one.
 * Every kind of bad key takes the same way: the same statement with the same comparison (see `authenticate_request` in the migrations).
 *
 * `authorization` is null where no key is wanted (an unknown path): then only the caller's address is counted.
 */
export async function authenticate(
  db: Db,
  request: {
    readonly authorization: string | null;
    readonly ip: string | null;
    readonly limits: RateLimits;
    readonly clock: Clock;
    /** Random bytes that only this process knows, for the blinded comparison. */
    readonly nonce: Buffer;
  },
): Promise<Authentication> {
  const { authorization, ip, limits, clock, nonce } = request;
  const key = parseApiKey(bearerOf(authorization));
  const proof = hash(
    'sha256',
    Buffer.concat([key ? hashSecret(key.secret) : NO_SECRET, nonce]),
    'buffer',
  );
  const values = [
    key?.prefix ?? null,
    nonce,
    proof,
    ip,
    limits.keyPerMinute,
    limits.ipPerMinute,
    clock.override(),
  ];
  const [row] = await db.query(AUTHENTICATE, values);
  if (!row) throw new Error('authenticate_request returned no row');
  const rate = { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s };
  return {
    tenant: row.key_id === null ? null : toTenant(row, row.key_id),
    rate,
    counted: row.counted,
  };
}

/** An address as Postgres' inet takes it, or null when what a proxy sent is none: then only keys without an allow-list pass. */
export function normalizeIp(address: string | undefined): string | null {
  const bare = (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return isIP(bare) ? bare : null;
}

function bearerOf(authorization: string | null): string {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}

function toTenant(row: Row, keyId: string): Tenant {
  const { creator_id, creator_role, creator_status } = row;
  return {
    actor: {
      kind: 'api_key',
      id: keyId,
      scopes: (row.scopes === '' ? [] : row.scopes.split(' ')) as Scope[],
      creator: { id: creator_id, role: creator_role, status: creator_status },
    },
    team: {
      id: row.team_id,
      plan: row.plan,
      language: row.language,
      rateLimitPerMinute: row.rate_limit_per_min,
    },
    privacy: privacyOf({
      memberDetailEnabled: row.member_detail_enabled,
      leaderboardEnabled: row.leaderboard_enabled,
    }),
    enabled: row.team_status === 'active' && hasApi(row.plan),
  };
}
