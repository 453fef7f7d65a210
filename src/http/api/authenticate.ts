import { hash } from 'node:crypto';
import { hashSecret, parseApiKey } from '../../core/api-key.ts';
import type { ApiKeyActor } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import { hasApi } from '../../core/plans.ts';
import type { Privacy } from '../../core/privacy.ts';
import type { Scope } from '../../core/scopes.ts';
import type { Db } from '../../db/client.ts';
import type { TeamFacts } from '../../trpc/context.ts';
import { authenticateRequest, type KeyRow } from './authenticate-store.ts';
import { teamFactsOf } from './team-facts.ts';

/** The rate limit that the headers of a response show: the tighter one of the key and the team. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetS: number;
}

/** The team of a valid key. */
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
  /** False: the limit is reached, and this request was not counted. */
  readonly counted: boolean;
}

export interface RateLimits {
  readonly keyPerMinute: number;
  /** The calls of one person in the app. */
  readonly personPerMinute: number;
  readonly ipPerMinute: number;
}

/** How many requests without a valid key one IPv4 address or IPv6 /64 may make per minute. */
export const IP_RATE_LIMIT_PER_MINUTE = 120;

/** Compared when there is no key, so that a missing key takes the same steps as a wrong one. */
const NO_SECRET = hashSecret('');

/**
 * Finds the team and the key of a request and counts the request, in one round trip. Nothing is
 * cached, so a revoked key stops working at the next request.
 *
 * Every kind of bad key runs the same statement with the same comparison, so that the response time
 * tells nothing about a key (see `authenticate_request` in the migrations).
 */
export async function authenticate(
  db: Db,
  request: {
    /** null: no key is wanted (an unknown path). Then only the caller's address is counted. */
    readonly authorization: string | null;
    readonly ip: string | null;
    readonly limits: RateLimits;
    readonly clock: Clock;
    /** Random bytes that only this process knows, for the blinded comparison. */
    readonly nonce: Buffer;
  },
): Promise<Authentication> {
  const { authorization, ip, limits, clock, nonce } = request;
  const key = parseApiKey(bearerTokenOf(authorization) ?? '');
  const secretHash = key ? hashSecret(key.secret) : NO_SECRET;
  const row = await authenticateRequest(db, {
    keyPrefix: key?.prefix ?? null,
    nonce,
    proof: hash('sha256', Buffer.concat([secretHash, nonce]), 'buffer'),
    ip,
    ...limits,
    now: clock.override(),
  });
  return {
    tenant: row.key_id === null ? null : toTenant(row),
    rate: { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s },
    counted: row.counted,
  };
}

/**
 * Says what is wrong with the headers `Authorization` of a request without a valid key. It tells
 * nothing about a key that has the right form.
 */
export function describeRefusal(headers: readonly string[] | undefined): string {
  const [header = '', ...others] = headers ?? [];
  if (others.length > 0) return 'There is more than one header Authorization.';
  if (header === '')
    return 'The API key is missing. Send it as "Authorization: Bearer svck_live_…".';
  return parseApiKey(bearerTokenOf(header) ?? '')
    ? 'The API key is not valid, or not from this address.'
    : 'The API key is malformed. Send it as "Authorization: Bearer svck_live_…".';
}

/** The token of a header `Authorization: Bearer …`, or null. */
export function bearerTokenOf(authorization: string | null | undefined): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

function toTenant(row: KeyRow): Tenant {
  const { creator_id, creator_role, creator_status } = row;
  return {
    actor: {
      kind: 'api_key',
      id: row.key_id,
      scopes: (row.scopes === '' ? [] : row.scopes.split(' ')) as Scope[],
      creator: { id: creator_id, role: creator_role, status: creator_status },
    },
    ...teamFactsOf(row.team_id, row),
    enabled: row.team_status === 'active' && hasApi(row.plan),
  };
}
