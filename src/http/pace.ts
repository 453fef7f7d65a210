/**
 * Slows down what is answered to strangers, to callers over their limit, and to teams that have too
 * many requests in progress, so that a caller who does not heed a refusal cannot keep the process
 * busy with refusing. Each address gets a hundred
 * of these answers a second; a large file counts as several. Callers of the same address who are
 * admitted do not notice.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** How many come at once before the pace begins. */
const BURST = 100;
const EVERY_MS = 10;
/** Nobody waits longer for an answer, however many wait. */
const LONGEST_MS = 2_000;
/** With more addresses than this, those that may have a full burst again are forgotten. */
const ADDRESSES_MAX = 10_000;

/** Returns the function that resolves when it is the address's turn, or undefined if it is now. */
export function createPace(
  { now, wait } = { now: () => performance.now(), wait: (ms: number) => delay(ms) },
): (address: string, cost?: number) => Promise<void> | undefined {
  /** When the next answer would be due if they came without a pause. */
  const dueAt = new Map<string, number>();
  let forgetAt = ADDRESSES_MAX;
  return (address, cost = 1) => {
    const at = now();
    const earliest = at - BURST * EVERY_MS;
    const due = Math.max(dueAt.get(address) ?? earliest, earliest) + cost * EVERY_MS;
    dueAt.set(address, Math.min(due, at + LONGEST_MS));
    if (dueAt.size > forgetAt) {
      for (const [known, knownDue] of dueAt) if (knownDue <= earliest) dueAt.delete(known);
      forgetAt = Math.max(ADDRESSES_MAX, 2 * dueAt.size);
    }
    return due <= at ? undefined : wait(Math.min(due - at, LONGEST_MS));
  };
}
