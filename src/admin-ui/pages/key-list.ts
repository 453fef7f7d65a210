/** What the list of keys shows: see `keys.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import { stateOf, type ApiKey } from './key-state.ts';

const TONES = { active: 'good', ending: 'warn', expired: 'plain', revoked: 'plain' } as const;

/**
 * The keys to show: the live ones, or the newest of any state. `hasEnded`: there are some that do
 * not work any more.
 */
export function keysToShow(
  { live, newest }: { readonly live: readonly ApiKey[]; readonly newest: readonly ApiKey[] },
  withEnded: boolean,
): { readonly shown: readonly ApiKey[]; readonly hasEnded: boolean } {
  const hasEnded = newest.some(({ state }) => state !== 'active');
  return { shown: withEnded ? newest : live, hasEnded };
}

/** How the state of a key is coloured. */
export function toneOfKey(key: Pick<ApiKey, 'state' | 'revoked_at'>): 'good' | 'warn' | 'plain' {
  return TONES[stateOf(key)];
}

/** When it ends or has ended; null: it does not. */
export function endOfKey({
  state,
  revoked_at,
  expires_at,
}: Pick<ApiKey, 'state' | 'revoked_at' | 'expires_at'>): {
  readonly at: string;
  readonly isOver: boolean;
} | null {
  const isRevokedFirst = revoked_at !== null && (expires_at === null || revoked_at < expires_at);
  const at = isRevokedFirst ? revoked_at : expires_at;
  return at === null ? null : { at, isOver: state !== 'active' };
}

/** Whether it can be replaced. One that is being replaced has its successor already. */
export function canRotate({ revoked_at }: Pick<ApiKey, 'revoked_at'>): boolean {
  return revoked_at === null;
}

/** Whether a key that ends gets a successor: somebody else may know it, and it has none yet. */
export function needsNew(key: Pick<ApiKey, 'state' | 'revoked_at'>, hasLeaked: boolean): boolean {
  return hasLeaked && stateOf(key) !== 'ending';
}

type Call = RouterOutputs['admin']['requests']['list']['data'][number];
const NAMED_MAX = 5;

/** What the last calls of a key were and where they came from: the first few of each. */
export function lastUse(calls: readonly Pick<Call, 'method' | 'route' | 'network'>[]): {
  readonly calls: readonly string[];
  readonly networks: readonly string[];
} {
  const few = (texts: readonly string[]) => [...new Set(texts)].slice(0, NAMED_MAX);
  return {
    calls: few(calls.map(({ method, route }) => `${method} ${route}`)),
    networks: few(calls.flatMap(({ network }) => network ?? [])),
  };
}

/** Each of the names with how often it is there: the first few. */
export function countEach(
  names: readonly string[],
): readonly { readonly name: string; readonly count: number }[] {
  const groups = Map.groupBy(names, (name) => name);
  return [...groups].slice(0, NAMED_MAX).map(([name, { length }]) => ({ name, count: length }));
}

/** Who has made a key: the reader, an address, or null where it is withheld. */
export function whoMade(
  { member_id, email }: ApiKey['creator'],
  ownId: string,
): { readonly isReader: boolean; readonly email: string | null } {
  return { isReader: member_id === ownId, email: email || null };
}
