import { LRUCache } from 'lru-cache';
import type { Credential } from './credential.ts';
import { tenantOf, type Tenant } from './tenant.ts';

/**
 * Remembers the tenants of the keys that were valid at their last request.
 *
 * This is no cache: nothing here decides anything. It names the team of a key, and the tenant for
 * which a speculative read may begin.
 */
export interface KnownKeys {
  /** The tenant that the key had at its last request; null if the key is not known. */
  find(credential: Credential): Tenant | null;
  remember(credential: Credential, tenant: Tenant): void;
  /** Call it when the key was refused: its next request has no guess. */
  forget(credential: Credential): void;
}

/** About 60 MB. A key that was dropped costs its next request one more round trip. */
const MAX_KEYS = 100_000;

export function createKnownKeys(maxKeys = MAX_KEYS): KnownKeys {
  // The version is one text, where the tenant is five objects.
  const versions = new LRUCache<string, string>({ max: maxKeys });
  return {
    find: (credential) => {
      const version = versions.get(digestOf(credential));
      return version === undefined ? null : tenantOf(version);
    },
    remember: (credential, { version }) => void versions.set(digestOf(credential), version),
    forget: (credential) => void versions.delete(digestOf(credential)),
  };
}

/** Identifies the whole key, prefix and secret, without revealing the secret or its hash. */
function digestOf({ keyPrefix, proof }: Credential): string {
  return `${keyPrefix} ${proof.toString('latin1')}`;
}
