/**
 * Throttles answers to strangers, to callers over their limit, and to teams with too many requests
 * in progress. A caller that ignores refusals must not keep the process busy with refusing. Each
 * address (IPv6: its /64) gets a hundred of these answers a second; a large file or a search counts
 * as several. Admitted callers of the same address are not throttled.
 *
 * As many answers of an address wait as it gets in two seconds. A further refusal is sent at once,
 * and a further page is refused before any work; both end their connection, and the address may
 * open few new ones for a while (`http/server.ts`). So waiting answers hold few connections, and
 * opening one per request is no faster. The connection is not just closed: a proxy would take the
 * process for broken.
 */
import { systemClock, type Clock } from '../core/clock.ts';

/** How many an address gets at once before it is throttled. */
const BURST = 100;
const EVERY_MS = 10;
/** So many wait, a large one for several, and thus none for longer than two seconds. */
const WAITING_MAX = 200;
/** With more addresses than this, those that may have a full burst again are forgotten. */
const ADDRESSES_MAX = 10_000;

/** Resolves when the answer may be sent. `now`: at once; `full`: too many of the address wait. */
export type Wait = Promise<void> | 'now' | 'full';

interface Address {
  /** When the next answer would be due if they came without a pause. */
  dueAt: number;
  /** What the answers that wait cost. None of them waits for longer than until `dueAt`. */
  waiting: number;
}

export function createThrottle(
  clock: Pick<Clock, 'monotonicMs' | 'wait'> = systemClock,
): (name: string, cost?: number) => Wait {
  const addresses = new Map<string, Address>();
  const waitOf = async (address: Address, cost: number, ms: number): Promise<void> => {
    address.waiting += cost;
    await clock.wait(ms);
    address.waiting -= cost;
  };
  let forgetAt = ADDRESSES_MAX;
  return (name, cost = 1) => {
    const at = clock.monotonicMs();
    const earliest = at - BURST * EVERY_MS;
    const address = addresses.get(name) ?? { dueAt: earliest, waiting: 0 };
    if (address.waiting + cost > WAITING_MAX) return 'full';
    addresses.set(name, address);
    const due = Math.max(address.dueAt, earliest) + cost * EVERY_MS;
    address.dueAt = due;
    if (addresses.size > forgetAt) {
      for (const [known, { dueAt }] of addresses) if (dueAt <= earliest) addresses.delete(known);
      forgetAt = Math.max(ADDRESSES_MAX, 2 * addresses.size);
    }
    return due <= at ? 'now' : waitOf(address, cost, due - at);
  };
}
