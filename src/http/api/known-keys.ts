import type { KeyRow } from './authenticate-store.ts';
import type { Credential } from './credential.ts';
import { toTenant, type Tenant } from './tenant.ts';

/**
 * Remembers the keys that were valid at their last request, and the facts that each of them had.
 *
 * A read of a known key starts for that tenant at once, beside its authentication, so that it waits
 * for the database once instead of twice. Its outcome is used only if the authentication finds the
 * same facts again. So what is remembered here never decides anything: a revoked key is refused at
 * its next request, and nobody can start a read without a key that was valid.
 */
export interface KnownKeys {
  /** The key as it was at its last request; undefined for a key that is not known. */
  find(credential: Credential): KnownKey | undefined;
  /**
   * Returns the tenant of a valid key. If the key was found with the same facts, that is the tenant
   * that was found with it. If not, the key is known from now on.
   */
  tenantOf(credential: Credential, facts: KeyRow, known: KnownKey | undefined): Tenant;
  /** The key was refused. Its next request starts no read ahead. */
  forget(credential: Credential): void;
}

export interface KnownKey {
  readonly facts: KeyRow;
  readonly tenant: Tenant;
}

/** About 45 MB. A key that was forgotten waits once more, and is known again. */
const MAX_KEYS = 100_000;
/** What many keys have in common: roles, plans, usual combinations of scopes. */
const MAX_TEXTS = 1_000;

export function createKnownKeys(maxKeys = MAX_KEYS): KnownKeys {
  const keys = new Generations<KeyRow>(maxKeys / 2);
  const texts = new Generations<string>(MAX_TEXTS / 2);
  return {
    find: (credential) => {
      const facts = keys.get(digestOf(credential));
      return facts && { facts, tenant: toTenant(facts) };
    },
    tenantOf: (credential, row, known) => {
      if (known && isSame(known.facts, row)) return known.tenant;
      const facts = toFacts(row, texts);
      keys.set(digestOf(credential), facts);
      return toTenant(facts);
    },
    forget: (credential) => keys.delete(digestOf(credential)),
  };
}

/**
 * The values that were set last, one generation to two of them. The older one is forgotten as a
 * whole: to find the oldest value of one large Map, V8 looks at the places of all that left before
 * it, which takes 40 µs among 100,000.
 */
class Generations<T> {
  /** The values of one generation. */
  readonly #size: number;
  #younger = new Map<string, T>();
  #older = new Map<string, T>();

  constructor(size: number) {
    this.#size = size;
  }

  get(name: string): T | undefined {
    return this.#younger.get(name) ?? this.#older.get(name);
  }

  set(name: string, value: T): void {
    if (this.#younger.size >= this.#size) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(name, value);
  }

  delete(name: string): void {
    this.#younger.delete(name);
    this.#older.delete(name);
  }
}

/** Stands for the whole key, prefix and secret, and tells neither the secret nor its hash. */
function digestOf({ keyPrefix, proof }: Credential): string {
  return `${keyPrefix} ${proof.toString('latin1')}`;
}

/** All facts that a request depends on, and nothing else of the row, in few bytes. */
function toFacts(row: KeyRow, texts: Generations<string>): KeyRow {
  const share = (text: string): string => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    const copy = copyOf(text);
    texts.set(copy, copy);
    return copy;
  };
  return {
    key_id: copyOf(row.key_id),
    scopes: share(row.scopes),
    creator_id: copyOf(row.creator_id),
    creator_role: share(row.creator_role) as KeyRow['creator_role'],
    creator_status: share(row.creator_status) as KeyRow['creator_status'],
    team_id: copyOf(row.team_id),
    team_status: share(row.team_status),
    plan: share(row.plan),
    language: share(row.language) as KeyRow['language'],
    rate_limit_per_min: row.rate_limit_per_min,
    member_detail_enabled: row.member_detail_enabled,
    leaderboard_enabled: row.leaderboard_enabled,
  };
}

/** Copies a text of a row: it is a slice of the whole row's text, and would keep that in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function isSame(facts: KeyRow, row: KeyRow): boolean {
  return (Object.keys(facts) as (keyof KeyRow)[]).every((name) => facts[name] === row[name]);
}
