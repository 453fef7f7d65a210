// Nobody waits for somebody else: while one caller, one team or one stranger attacks, another team
// goes on as if alone. A new attack is one row in attacks/.
import { expect, test } from 'vitest';
import { byCallers } from './attacks/callers.ts';
import { byCrms } from './attacks/crm.ts';
import { byDeliveries } from './attacks/deliveries.ts';
import { byOperators } from './attacks/operators.ts';
import { bySandboxes } from './attacks/sandboxes.ts';
import { byStrangers } from './attacks/strangers.ts';
import { byLists } from './attacks/lists.ts';
import { attackOnce, percentile, summary, type Attack, type Noticed } from './world.ts';
import { nobody } from './nobody.ts';

const MEMORY_MB = 500;
/** In milliseconds, on a machine on which the p95 beside `nobody` is that. */
const LIMITS = { p95: 250, slowest: 1_000, webhook: 1_000 };
const BESIDE_NOBODY_MS = 35;

const attacks: readonly Attack[] = [
  ...byCallers,
  ...byCrms,
  ...byDeliveries,
  ...byOperators,
  ...bySandboxes,
  ...byStrangers,
  ...byLists,
];

// Three tries, because another process of the machine may take a second of its time.
test.each(attacks)('$name', { retry: 2, timeout: 600_000 }, async (attack) => {
  const noticed = await attackOnce(attack);
  console.log(`${attack.name}: ${summary(noticed)}`);
  const share = shareOfLimits(noticed);
  const isFine = isAnswered(noticed) && share < 1;
  const { slowness, isTooSlow } = isFine ? AS_EXPECTED : await measureMachine();
  expect(isAnswered(noticed) || isTooSlow).toBe(true);
  expect(share).toBeLessThan(slowness);
  expect(noticed.missing).toBe(0);
  expect(noticed.memoryMb).toBeLessThan(MEMORY_MB);
});

function isAnswered({ statuses }: Noticed): boolean {
  return Object.keys(statuses).every((status) => status === '200');
}

/** The largest share that a wait of the victim takes of its limit: 1 is the limit. */
function shareOfLimits({ requestsMs, webhooksMs, share }: Noticed): number {
  return Math.max(
    share,
    percentile(requestsMs, 0.95) / LIMITS.p95,
    percentile(requestsMs, 1) / LIMITS.slowest,
    percentile(webhooksMs, 1) / LIMITS.webhook,
  );
}

interface Machine {
  /** By how much it is slower, now, than the one that the limits are for. At least 1. */
  readonly slowness: number;
  /** The victim is refused even where nobody attacks. */
  readonly isTooSlow: boolean;
}

const AS_EXPECTED: Machine = { slowness: 1, isTooSlow: false };

/** Looks at this machine by what the victim sees when nobody attacks. */
async function measureMachine(): Promise<Machine> {
  const noticed = await attackOnce(nobody);
  console.log(`${nobody.name}: ${summary(noticed)}`);
  const slowness = Math.max(1, percentile(noticed.requestsMs, 0.95) / BESIDE_NOBODY_MS);
  return { slowness, isTooSlow: !isAnswered(noticed) };
}
