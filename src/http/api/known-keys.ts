import type { KeyRow } from './authenticate-store.ts';
import type { Credential } from './credential.ts';
import { toTenant, type Tenant } from './tenant.ts';

/**
 * Remembers the keys that were valid at their last request, and the tenant that each of them had.
 *
 * A read of a known key starts for that tenant at once, beside its authentication, so that it waits
 * for the database once instead of twice. Its outcome is used only if the authentication finds the
 * same facts again. So what is remembered here never decides anything: a revoked key is refused at
 * its next request, and nobody can start a read without a key that was valid.
 */
export interface KnownKeys {
  /** The tenant of the key's last request; undefined for a key that is not known. */
  find(credential: Credential): Tenant | undefined;
  /** Returns the known tenant if it has these facts, and a new one if not. */
  tenantOf(credential: Credential, facts: KeyRow): Tenant;
  /** The key was refused. Its next request starts no read ahead. */
  forget(credential: Credential): void;
}

/** A few megabytes. A key that was forgotten waits once more, and is known again. */
const MAX_KEYS = 10_000;

export function createKnownKeys(maxKeys = MAX_KEYS): KnownKeys {
  const keys = new Map<string, { readonly facts: KeyRow; readonly tenant: Tenant }>();
  return {
    find: (credential) => keys.get(digestOf(credential))?.tenant,
    tenantOf: (credential, facts) => {
      const digest = digestOf(credential);
      const known = keys.get(digest);
      if (known && isSame(known.facts, facts)) return known.tenant;
      const tenant = toTenant(facts);
      keys.set(digest, { facts, tenant });
      const [oldest] = keys.size > maxKeys ? keys.keys() : [];
      if (oldest !== undefined) keys.delete(oldest);
      return tenant;
    },
    forget: (credential) => void keys.delete(digestOf(credential)),
  };
}

/** Stands for the whole key, prefix and secret, and tells neither the secret nor its hash. */
function digestOf({ keyPrefix, proof }: Credential): string {
  return `${keyPrefix} ${proof.toString('base64')}`;
}

/** All facts that a request depends on. A new column of `KeyRow` must be here to compile. */
const FACTS: Readonly<Record<keyof KeyRow, true>> = {
  key_id: true,
  scopes: true,
  creator_id: true,
  creator_role: true,
  creator_status: true,
  team_id: true,
  team_status: true,
  plan: true,
  language: true,
  rate_limit_per_min: true,
  member_detail_enabled: true,
  leaderboard_enabled: true,
};
const FACT_NAMES = Object.keys(FACTS) as (keyof KeyRow)[];

function isSame(a: KeyRow, b: KeyRow): boolean {
  return FACT_NAMES.every((name) => a[name] === b[name]);
}
