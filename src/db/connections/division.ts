/** How a process divides its connections. */
import { halfOf } from './team-places.ts';

interface Counts {
  /** For the short statements of all requests. */
  readonly common: number;
  /** For the single statements of callers. */
  readonly quick: number;
  /** For those of them that take long. */
  readonly slow: number;
  readonly transactions: number;
}

/** Divides a process's connections among the kinds of work. */
export function divideConnections(poolMax: number): Counts {
  const common = Math.max(1, Math.floor(poolMax / 8));
  const slow = Math.max(1, Math.floor(poolMax / 5));
  const transactions = Math.max(1, poolMax - 2 * common - slow);
  return { common, quick: common, slow, transactions };
}

/**
 * The fewest connections of a process with which no team waits for another one's work. With fewer,
 * a kind of work has one connection, which a single team may hold.
 */
export function fewestToShare(): number {
  const isShared = (places: number): boolean => halfOf(places) < places;
  for (let poolMax = 1; ; poolMax += 1) {
    const { slow, transactions } = divideConnections(poolMax);
    if (isShared(slow) && isShared(transactions)) return poolMax;
  }
}
