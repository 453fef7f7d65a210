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
import { attackOnce, percentile, summary, type Attack } from './world.ts';

const P95_MS = 250;
const SLOWEST_MS = 1_000;
const WEBHOOK_MS = 1_000;
const MEMORY_MB = 500;

const attacks: readonly Attack[] = [
  ...byCallers,
  ...byCrms,
  ...byDeliveries,
  ...byOperators,
  ...bySandboxes,
  ...byStrangers,
  ...byLists,
];

// A second try, because another process of the machine may take a second of its time.
test.each(attacks)('$name', { retry: 1, timeout: 600_000 }, async (attack) => {
  const noticed = await attackOnce(attack);
  console.log(`${attack.name}: ${summary(noticed)}`);
  expect(Object.keys(noticed.statuses)).toEqual(['200']);
  expect(percentile(noticed.requestsMs, 0.95)).toBeLessThan(P95_MS);
  expect(percentile(noticed.requestsMs, 1)).toBeLessThan(SLOWEST_MS);
  expect(noticed.missing).toBe(0);
  expect(percentile(noticed.webhooksMs, 1)).toBeLessThan(WEBHOOK_MS);
  expect(noticed.memoryMb).toBeLessThan(MEMORY_MB);
});
