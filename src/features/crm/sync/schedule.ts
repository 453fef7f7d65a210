/**
 * When a connection is synchronized, and what a round reads.
 *
 * A round reads the provider's lists one after the other, each from the time that the previous
 * round reached (`since`). It may take several runs: after each page the place is kept in the
 * connection's `sync_state`, and the next run continues there. Once a day a round reads everything.
 * At its end it removes what it has not read: deals that were purged, merged, hidden from the
 * credentials or deleted longer ago than the CRM reports, and deleted notes.
 */
import { z } from 'zod';
import type { Mode } from '../../../core/sandbox.ts';
import type { ProviderError } from '../providers/errors.ts';
import type { ProviderPage } from '../providers/provider.ts';

/** Between two rounds, ± `JITTER_MS`, which spreads connections that were made together. */
export const INTERVAL_MS = 15 * 60_000;
const JITTER_MS = 30_000;
/** Nothing changes in a simulated CRM. Whoever wants a round of it asks for one. */
const SANDBOX_INTERVAL_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 60_000;
/** A run that a rate limit has stopped does not continue sooner. */
const CONTINUATION_MIN_MS = 1_000;
const FULL_EVERY_MS = 24 * 3_600_000;
/** A CRM's search may show a change later than one that was made after it. */
const OVERLAP_MS = 5 * 60_000;

const round = z.strictObject({
  startedAt: z.string(),
  /** Whether it reads everything, and removes what it has not read. */
  full: z.boolean(),
  list: z.string(),
  cursor: z.string().nullable(),
  /** List → the latest modification time on its pages. */
  seen: z.record(z.string(), z.string()),
});
/** A round that is not complete yet, and its place. */
export type Round = z.output<typeof round>;

const stateShape = z.strictObject({
  /** List → the modification time from which the next round reads it. */
  since: z.record(z.string(), z.string()),
  fullAt: z.string().nullable(),
  /** The round that is not complete yet. */
  round: round.nullable(),
});
/** What `crm_connection.sync_state` contains. */
export type SyncState = z.output<typeof stateShape>;

const EMPTY: SyncState = { since: {}, fullAt: null, round: null };

/** Without a readable state the next round reads everything. */
export function parseState(stored: unknown): SyncState {
  return stateShape.safeParse(stored).data ?? EMPTY;
}

/** `Round.list` after the last list of a full round: what it has not read is removed (sweep.ts). */
export const SWEEP = 'sweep';
/** `Round.list` when nothing is left to do. */
export const END = 'end';

/** If the last round that read everything began then or before, the next one reads everything. */
export function fullSince(now: Date): Date {
  return new Date(now.getTime() - FULL_EVERY_MS);
}

/** The round to continue, or a new one. */
export function roundOf(state: SyncState, lists: readonly string[], now: Date): Round {
  const { round: current } = state;
  if (current && [...lists, SWEEP, END].includes(current.list)) return current;
  const full = state.fullAt === null || Date.parse(state.fullAt) <= fullSince(now).getTime();
  return { startedAt: now.toISOString(), full, list: lists[0] ?? SWEEP, cursor: null, seen: {} };
}

/**
 * Whether a run that failed with this error forgets its round, so that the next one begins anew. It
 * does if the CRM refuses the place, and for a list that the credentials may not read: once a day,
 * or the lists before it would never be read again.
 */
export function forgetsRound(
  current: Round | null,
  { reason, refusedPlace }: Pick<ProviderError, 'reason' | 'refusedPlace'>,
  now: Date,
): boolean {
  if (refusedPlace) return true;
  if (reason !== 'forbidden' || current === null) return false;
  return Date.parse(current.startedAt) <= fullSince(now).getTime();
}

/** The round after this page. */
export function roundAfter(
  current: Round,
  lists: readonly string[],
  page: Pick<ProviderPage, 'next' | 'modifiedUntil'>,
): Round {
  const { list, seen } = current;
  const until = page.modifiedUntil ?? '';
  const read = {
    ...current,
    cursor: page.next,
    seen: until > (seen[list] ?? '') ? { ...seen, [list]: until } : seen,
  };
  if (page.next !== null) return read;
  return { ...read, list: lists[lists.indexOf(list) + 1] ?? (current.full ? SWEEP : END) };
}

/** The state after a round. `since` never goes back, nor beyond `OVERLAP_MS` before its start. */
export function stateAfter(state: SyncState, done: Round): SyncState {
  const limit = new Date(Date.parse(done.startedAt) - OVERLAP_MS).toISOString();
  const since = { ...state.since };
  for (const [list, seen] of Object.entries(done.seen)) {
    const reached = seen < limit ? seen : limit;
    if (reached > (since[list] ?? '')) since[list] = reached;
  }
  return { since, fullAt: done.full ? done.startedAt : state.fullAt, round: null };
}

/** The next regular round. `random` is from 0 to 1. */
export function nextRegular(now: Date, random: number, mode: Mode): Date {
  const intervalMs = mode === 'test' ? SANDBOX_INTERVAL_MS : INTERVAL_MS;
  return new Date(now.getTime() + intervalMs + (random * 2 - 1) * JITTER_MS);
}

/**
 * When a run that ended with this error continues; null if the run has failed. A rate limit after
 * some pages is not a failure: the next run continues when the CRM allows it.
 */
export function continuationAt(
  now: Date,
  { reason, retryAfterMs }: Pick<ProviderError, 'reason' | 'retryAfterMs'>,
  madeProgress: boolean,
): Date | null {
  if (reason !== 'rate_limited' || !madeProgress) return null;
  return new Date(now.getTime() + Math.max(retryAfterMs ?? 0, CONTINUATION_MIN_MS));
}

/**
 * After 1, 2, 4 and 8 minutes, then every 15, ± 10 %, but not before the time that the CRM asked
 * for. `streak` is the number of failures since the last success, `random` from 0 to 1.
 */
export function nextRetry(
  now: Date,
  streak: number,
  options: { retryAfterMs: number | null; random: number },
): Date {
  const { retryAfterMs, random } = options;
  const backoffMs = Math.min(FIRST_RETRY_MS * 2 ** Math.min(streak - 1, 10), INTERVAL_MS);
  return new Date(now.getTime() + Math.max(backoffMs * (0.9 + random * 0.2), retryAfterMs ?? 0));
}
