import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startTestApi } from '../support/api.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

test('the callers of one proxy do not wait for each other', async () => {
  const api = await startTestApi({
    seed: makeSeed([]),
    // Longer than any test: a place that is not given back stays taken, and what waits for a lock
    // goes on waiting.
    app: { placeMaxMs: 600_000 },
    statementTimeoutMs: 60_000,
    trustProxy: { kind: 'hops', hops: 1 },
  });
  const ask = async (path: string, ip: string): Promise<number> =>
    (await fetch(api.url + path, { headers: { 'x-forwarded-for': ip } })).status;
  const [busy, other] = ['203.0.113.1', '203.0.113.2'];
  const release = await holdLock(api, lockWhole('rate_counter', 'bucket'));
  // Each of them waits to be counted.
  const asked = Array.from({ length: 16 }, () => ask('/api/public/v1/me', busy));
  await until(async () => {
    asked.push(ask('/healthz', busy));
    return (await Promise.race([asked.at(-1), delay(2_000, 'no place')])) === 'no place';
  });
  const first = [
    ask('/healthz', other).then(() => other),
    ...asked.map((one) => one.then(() => busy)),
  ];
  expect(await Promise.race(first)).toBe(other);
  await release();
  await Promise.all(asked);
});
