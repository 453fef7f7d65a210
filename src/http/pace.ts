/**
 * Slows down what is answered to strangers, to callers over their limit, and to teams that have too
 * many requests in progress, so that a caller who does not heed a refusal cannot keep the process
 * busy with refusing. Each address (IPv6: its /64) gets a hundred of these answers a second; a
 * large file counts as several. Callers of the same address who are admitted do not notice.
 *
 * Of each address, as many answers wait as come in the longest time that one waits. Who comes then
 * is told at once, but loses the connection, and the address may open few new ones for a while
 * (`http/server.ts`): so refusals that wait hold few connections, and who opens one for each
 * request is no faster. It is an answer, and not only the end of the connection, because that would
 * look to a proxy like a process that is broken.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** How many come at once before the pace begins. */
const BURST = 100;
const EVERY_MS = 10;
/** Nobody waits longer for an answer, however many wait. */
const LONGEST_MS = 2_000;
/** With more addresses than this, those that may have a full burst again are forgotten. */
const ADDRESSES_MAX = 10_000;

const WAITING_MAX = LONGEST_MS / EVERY_MS;

/** Resolves when it is the address's turn. `now`: it is; `full`: too many of the address wait. */
export type Turn = Promise<void> | 'now' | 'full';

export function createPace(
  { now, wait } = { now: () => performance.now(), wait: (ms: number) => delay(ms) },
): (address: string, cost?: number) => Turn {
  /** When the next answer would be due if they came without a pause. */
  const dueAt = new Map<string, number>();
  /** How many answers of each address wait. */
  const waiting = new Map<string, number>();
  const waitOf = async (address: string, ms: number): Promise<void> => {
    waiting.set(address, (waiting.get(address) ?? 0) + 1);
    await wait(ms);
    const left = (waiting.get(address) ?? 0) - 1;
    if (left > 0) waiting.set(address, left);
    else waiting.delete(address);
  };
  let forgetAt = ADDRESSES_MAX;
  return (address, cost = 1) => {
    if ((waiting.get(address) ?? 0) >= WAITING_MAX) return 'full';
    const at = now();
    const earliest = at - BURST * EVERY_MS;
    const due = Math.max(dueAt.get(address) ?? earliest, earliest) + cost * EVERY_MS;
    dueAt.set(address, Math.min(due, at + LONGEST_MS));
    if (dueAt.size > forgetAt) {
      for (const [known, knownDue] of dueAt) if (knownDue <= earliest) dueAt.delete(known);
      forgetAt = Math.max(ADDRESSES_MAX, 2 * dueAt.size);
    }
    return due <= at ? 'now' : waitOf(address, Math.min(due - at, LONGEST_MS));
  };
}
