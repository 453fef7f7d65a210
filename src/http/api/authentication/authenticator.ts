import type { Clock } from '../../../core/clock.ts';
import type { ClientAddress } from '../../../core/network.ts';
import type { Database } from '../../../db/connections/database.ts';
import { readKey, type AdmittedRow, type AuthenticationRow, type KeyFault } from './key-store.ts';
import type { RateLimits, RateState } from './rate-limits.ts';
import { toTenant, type Tenant } from './tenant.ts';

/**
 * Finds the team and the key of each request, and counts the request. Every request asks the
 * database, so a revoked key stops working at the next one.
 */
export interface Authenticator {
  readonly authenticate: (request: AuthenticationRequest) => PendingAuthentication;
  /**
   * What the database says now of the tenant of a request that was counted, from the same address;
   * null: its key is not valid any more. Counts nothing.
   */
  readonly readAgain: (tenant: Tenant, address: ClientAddress) => Promise<Tenant | null>;
}

/** Makes an authenticator; a process needs one. */
export type CreateAuthenticator = (options: {
  readonly db: Database;
  readonly limits: RateLimits;
  readonly clock: Clock;
}) => Authenticator;

export interface AuthenticationRequest {
  /** The header `Authorization`; null without one. */
  readonly authorization: string | null;
  readonly address: ClientAddress;
}

/** An authentication that has begun. */
export interface PendingAuthentication {
  /**
   * The tenant that the key had at its last request; null if nothing is known of it. It may start a
   * read, but decides nothing. The read's response may be sent only if the tenant of the result has
   * the same version: then nothing about the key and its team has changed.
   */
  readonly guess: Tenant | null;
  /** What the database says now. Rejects if it could not be asked. */
  readonly result: Promise<Authentication>;
}

export interface Authentication {
  /** null: no valid key. */
  readonly tenant: Tenant | null;
  /** Why the key is not valid, for the log alone; null: it is. Without a key it is `unknown`. */
  readonly keyFault: KeyFault | null;
  readonly rate: RateState;
  /** How much of the key's or of the team's limit is used, whichever is more, from 0 to 1. */
  readonly used: number;
  /** False: the limit is reached, and this request was not counted. */
  readonly counted: boolean;
}

/** `Authenticator.readAgain`: both authenticators read alike. */
export function readAgainBy(db: Database, clock: Clock): Authenticator['readAgain'] {
  return async ({ actor, team }, { ip }) => {
    const own = { teamId: team.id, keyId: actor.id };
    const row = await readKey(db.forTeam(team.id), { ...own, ip, now: clock.override() });
    return row && toTenant(row);
  };
}

export function toAuthentication(
  row: AdmittedRow | AuthenticationRow,
  tenant: Tenant | null,
): Authentication {
  return {
    tenant,
    keyFault: row.key_id === null ? row.key_fault : null,
    rate: { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s },
    used: (row.used_percent ?? 0) / 100,
    counted: row.counted,
  };
}
