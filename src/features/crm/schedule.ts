/**
 * When a connection is synchronized, and how a round of it goes.
 *
 * A round reads the provider's lists one after the other, from the time up to which the round before has read (`since`). It may take several runs: after each
 * page the place is kept in the connection's `sync_state`, and whoever comes next goes on there. Once a day a round reads everything, and at its end removes
 * what it has not met: deals that were purged or merged, that the token may not see any more, or that were deleted longer ago than the CRM tells, and
 * notes that were deleted.
 */
import { z } from 'zod';
import type { ProviderPage } from './provider.ts';

/** The regular distance between two rounds, give or take `JITTER_MS`, so that connections that were made together part. */
export const INTERVAL_MS = 15 * 60_000;
const JITTER_MS = 30_000;
const FIRST_RETRY_MS = 60_000;
const FULL_EVERY_MS = 24 * 3_600_000;
/** A change may show in the CRM's search later than one made after it. */
const OVERLAP_MS = 5 * 60_000;

const round = z.strictObject({
  startedAt: z.string(),
  /** It reads everything, and removes what it has not met. */
  full: z.boolean(),
  list: z.string(),
  cursor: z.string().nullable(),
  /** List → latest time of modification that was met. */
  seen: z.record(z.string(), z.string()),
});
export type Round = z.output<typeof round>;

const stateShape = z.strictObject({
  /** List → from when on the next round reads it. */
  since: z.record(z.string(), z.string()),
  fullAt: z.string().nullable(),
  /** The round that is under way. */
  round: round.nullable(),
});
export type SyncState = z.output<typeof stateShape>;

const EMPTY: SyncState = { since: {}, fullAt: null, round: null };

/** The stored state. What cannot be read is as good as none: the next round reads everything. */
export function parseState(stored: unknown): SyncState {
  return stateShape.safeParse(stored).data ?? EMPTY;
}

/** The step after the last list of a full round, and what stands in the place of a list once nothing is left to do. */
export const SWEEP = 'sweep';
export const END = 'end';

/** The round that is under way, or a new one. */
export function roundOf(state: SyncState, lists: readonly string[], now: Date): Round {
  const { round: current } = state;
  if (current && [...lists, SWEEP, END].includes(current.list)) return current;
  const full = state.fullAt === null || now.getTime() - Date.parse(state.fullAt) >= FULL_EVERY_MS;
  return { startedAt: now.toISOString(), full, list: lists[0] ?? SWEEP, cursor: null, seen: {} };
}

/** The round with this page read. */
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

/** The state once a round is through. Times never go back, and stay a little before the round's beginning. */
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
export function nextRegular(now: Date, random: number): Date {
  return new Date(now.getTime() + INTERVAL_MS + (random * 2 - 1) * JITTER_MS);
}

/** After the `streak`th failure: 1, 2, 4, 8, then every 15 minutes, with jitter; never before the CRM asked for. */
export function nextRetry(now: Date, streak: number, options: { retryAfterMs: number | null; random: number }): Date {
  const { retryAfterMs, random } = options;
  const backoffMs = Math.min(FIRST_RETRY_MS * 2 ** Math.min(streak - 1, 10), INTERVAL_MS);
  return new Date(now.getTime() + Math.max(backoffMs * (0.9 + random * 0.2), retryAfterMs ?? 0));
}
