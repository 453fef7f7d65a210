import type { Credential } from './credential.ts';
import type { KeyRow } from './key-store.ts';
import { toTenant, type Tenant } from './tenant.ts';

/**
 * Remembers the keys that were valid at their last request, and what their rows said.
 *
 * This is no cache: nothing here decides anything. It only tells which team to look in, and for
 * which tenant a speculative read may begin.
 */
export interface KnownKeys {
  /** The key as it was at its last request; undefined if it is not known. */
  find(credential: Credential): KnownKey | undefined;
  /**
   * Returns the tenant of a valid key, and remembers the key. If the row says the same as `known`,
   * it is the tenant of `known`.
   */
  tenantOf(credential: Credential, row: KeyRow, known: KnownKey | undefined): Tenant;
  /** Call it when the key was refused: its next request has no guess. */
  forget(credential: Credential): void;
}

export interface KnownKey {
  readonly facts: KeyRow;
  readonly tenant: Tenant;
}

/** About 45 MB. A key that was dropped costs its next request one more round trip. */
const MAX_KEYS = 100_000;
/** Texts that many keys share: roles, plans, usual combinations of scopes. */
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
 * A bounded map in two generations. When the younger one is full, the older one is dropped as a
 * whole. Deleting the oldest entry of one large Map instead would take 40 µs with 100,000 entries,
 * because V8 first steps over the slots of all entries that were deleted before it.
 */
class Generations<T> {
  /** The most values of one generation. */
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

/** Identifies the whole key, prefix and secret, without revealing the secret or its hash. */
function digestOf({ keyPrefix, proof }: Credential): string {
  return `${keyPrefix} ${proof.toString('latin1')}`;
}

/** Copies what a request depends on, and nothing else of the row. Texts are shared among keys. */
function toFacts(row: KeyRow, texts: Generations<string>): KeyRow {
  const share = <Text extends string>(text: Text): Text => {
    let known = texts.get(text);
    if (known === undefined) {
      known = copyOf(text);
      texts.set(known, known);
    }
    return known as Text;
  };
  return {
    key_id: copyOf(row.key_id),
    scopes: share(row.scopes),
    creator_id: copyOf(row.creator_id),
    creator_role: share(row.creator_role),
    creator_status: share(row.creator_status),
    team_id: copyOf(row.team_id),
    team_status: share(row.team_status),
    plan: share(row.plan),
    language: share(row.language),
    rate_limit_per_min: row.rate_limit_per_min,
    member_detail_enabled: row.member_detail_enabled,
    leaderboard_enabled: row.leaderboard_enabled,
  };
}

/** A text of a row is a slice of the whole row's text, and would keep all of it in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function isSame(facts: KeyRow, row: KeyRow): boolean {
  return (Object.keys(facts) as (keyof KeyRow)[]).every((name) => facts[name] === row[name]);
}
