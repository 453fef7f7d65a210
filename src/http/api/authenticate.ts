import type { Clock } from '../../core/clock.ts';
import type { Queries } from '../../db/client.ts';
import { authenticateRequest } from './authenticate-store.ts';
import type { Credential } from './credential.ts';
import type { GatheredKeys } from './gathered-keys.ts';
import type { KnownKey, KnownKeys } from './known-keys.ts';
import type { Tenant } from './tenant.ts';

/** The rate limit that the headers of a response show: the tighter one of the key and the team. */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetS: number;
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

/**
 * Finds the team and the key of a request and counts the request, in one round trip. Every request
 * asks, so a revoked key stops working at the next one. The tenant is the one of the known key if
 * nothing about it has changed (`known-keys.ts`). A request that is `together` with others is asked
 * for with them.
 *
 * Every kind of bad key runs the same statement with the same comparison, so that the response time
 * tells nothing about a key (see `authenticate_request` in the migrations).
 */
export async function authenticate(
  db: Queries,
  request: {
    readonly credential: Credential;
    readonly nonce: Buffer;
    readonly ip: string | null;
    readonly limits: RateLimits;
    readonly clock: Clock;
    readonly knownKeys: KnownKeys;
    readonly gatheredKeys: GatheredKeys;
    readonly known: KnownKey | undefined;
    readonly together: boolean;
  },
): Promise<Authentication> {
  const { credential, nonce, ip, limits, clock, known, together } = request;
  const { knownKeys, gatheredKeys } = request;
  const { keyPrefix, proof } = credential;
  const teamId = known?.facts.team_id ?? null;
  const gathered =
    together && keyPrefix !== null && teamId !== null
      ? await gatheredKeys.ask({ teamId, keyPrefix, proof, ip })
      : null;
  const terms = { nonce, ...limits, now: clock.override() };
  const row =
    gathered ??
    (await gatheredKeys.alone(authenticateRequest(db, { ...credential, ...terms, ip, teamId })));
  const tenant = row.key_id === null ? null : knownKeys.tenantOf(credential, row, known);
  if (!row.counted || !tenant?.enabled) knownKeys.forget(credential);
  return {
    tenant,
    rate: { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s },
    counted: row.counted,
  };
}
