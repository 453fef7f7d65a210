/**
 * Throttles answers to strangers, to callers over their limit, and to teams with too many requests
 * in progress. A caller that ignores refusals must not keep the process busy with refusing. Each
 * address (IPv6: its /64) gets a hundred of these answers a second; a large file counts as several.
 * Admitted callers of the same address are not throttled.
 *
 * At most 200 answers of an address wait, because none waits longer than two seconds. Further ones
 * are sent at once and end their connection, and the address may open few new ones for a while
 * (`http/server.ts`). So waiting refusals hold few connections, and opening one per request is no
 * faster. The connection is not just closed: a proxy would take the process for broken.
 */
import { setTimeout as delay } from 'node:timers/promises';

/** How many an address gets at once before it is throttled. */
const BURST = 100;
const EVERY_MS = 10;
/** No answer waits longer. */
const LONGEST_MS = 2_000;
/** With more addresses than this, those that may have a full burst again are forgotten. */
const ADDRESSES_MAX = 10_000;

const WAITING_MAX = LONGEST_MS / EVERY_MS;

/** Resolves when the answer may be sent. `now`: at once; `full`: too many of the address wait. */
export type Wait = Promise<void> | 'now' | 'full';

interface Address {
  /** When the next answer would be due if they came without a pause. */
  dueAt: number;
  /** How many answers wait. None of them waits for longer than until `dueAt`. */
  waiting: number;
}

export function createThrottle(
  { now, wait } = { now: () => performance.now(), wait: (ms: number) => delay(ms) },
): (name: string, cost?: number) => Wait {
  const addresses = new Map<string, Address>();
  const waitOf = async (address: Address, ms: number): Promise<void> => {
    address.waiting += 1;
    await wait(ms);
    address.waiting -= 1;
  };
  let forgetAt = ADDRESSES_MAX;
  return (name, cost = 1) => {
    const at = now();
    const earliest = at - BURST * EVERY_MS;
    const address = addresses.get(name) ?? { dueAt: earliest, waiting: 0 };
    if (address.waiting >= WAITING_MAX) return 'full';
    addresses.set(name, address);
    const due = Math.max(address.dueAt, earliest) + cost * EVERY_MS;
    address.dueAt = Math.min(due, at + LONGEST_MS);
    if (addresses.size > forgetAt) {
      for (const [known, { dueAt }] of addresses) if (dueAt <= earliest) addresses.delete(known);
      forgetAt = Math.max(ADDRESSES_MAX, 2 * addresses.size);
    }
    return due <= at ? 'now' : waitOf(address, Math.min(due - at, LONGEST_MS));
  };
}
