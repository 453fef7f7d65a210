/** What on the overview needs attention. `attention.tsx` says it in words. */
import { LIMITS } from '../lib/attention-limits.ts';
import { DAY_MS, sumOf } from '../lib/days.ts';
import { isSecretUnstored } from '../lib/success.ts';
import { isTokenMissing } from './crm-state.ts';
import { wasNeverSeen } from './key-state.ts';
import type { Facts } from './overview-facts.ts';

/** How many of the last days count. */
export const RECENT_DAYS = 7;
/** How many deliveries of a receiver wait before it is named. */
const BACKLOG = 100;
/** How long before its end a key is named, and after how long without a use. */
const SOON_MS = LIMITS.keyEndsWithinDays * DAY_MS;
const UNUSED_MS = 90 * DAY_MS;

export interface Needs {
  readonly hooks: Readonly<Record<'paused' | 'failing' | 'slow' | 'unstored', Facts['hooks']>>;
  readonly crms: Readonly<Record<'failing' | 'tokenless', Facts['crms']>>;
  /** Of `ending`, the one that ends first comes first. */
  readonly keys: Readonly<Record<'ending' | 'unseen' | 'unused', Facts['keys']>>;
  readonly requests: {
    /** How many failed by an error of ours. */
    readonly ours: number;
    /** The share that was refused or failed, and the part of it over a limit, if it is too much. */
    readonly errors: number | null;
    readonly limited: number | null;
  };
}

/** Finds what needs attention `now`, in milliseconds since 1970. */
export function findNeeds({ keys, days, hooks, crms }: Facts, now: number): Needs {
  const { total, good, limited, ours } = sumOf(days.slice(-RECENT_DAYS));
  const tooMuch = (count: number): number | null =>
    total >= LIMITS.requestsMin && count / total > LIMITS.errorShare ? count / total : null;
  const isLasting = ({ revoked_at }: { readonly revoked_at: string | null }) => revoked_at === null;
  const ending = keys
    .filter((key) => isLasting(key) && Date.parse(key.expires_at ?? '') < now + SOON_MS)
    .toSorted((a, b) => ((a.expires_at ?? '') < (b.expires_at ?? '') ? -1 : 1));
  const isUnused = (key: Facts['keys'][number]): boolean =>
    isLasting(key) &&
    !wasNeverSeen(key) &&
    Date.parse(key.last_used_at ?? key.created_at) < now - UNUSED_MS;
  return {
    hooks: {
      paused: hooks.filter(({ status }) => status !== 'active'),
      failing: hooks.filter(({ failed }) => failed > 0),
      slow: hooks.filter(({ status, waiting }) => status === 'active' && waiting >= BACKLOG),
      unstored: hooks.filter(isSecretUnstored),
    },
    crms: {
      failing: crms.filter((one) => one.last_error !== null && !isTokenMissing(one)),
      tokenless: crms.filter((one) => one.status === 'active' && isTokenMissing(one)),
    },
    keys: { ending, unseen: keys.filter(wasNeverSeen), unused: keys.filter(isUnused) },
    requests: { ours, errors: tooMuch(total - good), limited: tooMuch(limited) },
  };
}

/** The keys that a request has come with in the last days. */
export function findUsed(keys: Facts['keys'], now: number): Facts['keys'] {
  const after = now - RECENT_DAYS * DAY_MS;
  return keys.filter(({ last_used_at: at }) => at !== null && Date.parse(at) > after);
}
