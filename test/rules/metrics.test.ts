// Each series of the metrics shows its own number. Every number here is another one, so that two
// that have changed places are seen, and one that nothing sets.
import type { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Dispatcher } from '../../src/delivery/dispatcher.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { createWorkerMetrics } from '../../src/runtime/worker-metrics.ts';

/** Gauges and counters of ours as `name{label}`: `collectDefaultMetrics` makes the others. */
async function readOurs(registry: Registry): Promise<Record<string, number>> {
  const metrics = await registry.getMetricsAsJSON();
  const ours = metrics.filter(
    ({ name, type }) => !/^(process|nodejs)_/.test(name) && String(type) !== 'histogram',
  );
  return Object.fromEntries(
    ours.flatMap(({ name, values }) =>
      values.map(({ labels, value }) => [
        [name, ...Object.entries(labels).map(([label, of]) => `${label}=${of}`)].join(' '),
        value,
      ]),
    ),
  );
}

test('of an API process', async () => {
  const { registry, observeRequest } = createMetrics({
    pool: { totalCount: 11, idleCount: 7 } as Parameters<typeof createMetrics>[0]['pool'],
    waiting: () => ({ statements: 2, slowStatements: 3, transactions: 5 }),
  });
  observeRequest('GET /me', 200, 0.25, 'live');
  for (let times = 0; times < 43; times += 1) observeRequest('GET /me', 500, 1, 'test');
  expect(await readOurs(registry)).toEqual({
    'database_pool_connections state=total': 11,
    'database_pool_connections state=idle': 7,
    'database_queue_length kind=statement': 2,
    'database_queue_length kind=slow_statement': 3,
    'database_queue_length kind=transaction': 5,
    'api_sandbox_requests_total status=500': 43,
  });
  const text = await registry.metrics();
  expect(text).toContain('api_request_duration_seconds_sum{route="GET /me",status="200"} 0.25\n');
  // An alert on live requests sees none of a sandbox.
  expect(text).not.toMatch(/api_request_duration_seconds_count\{[^}]*status="500"/);
});

test('of a worker', async () => {
  const { registry, observeDelivery, countJobFailure, watch } = createWorkerMetrics(() =>
    Promise.resolve({
      fanOutLagS: 13,
      jobs: 17,
      pausedEndpoints: 19,
      oldestDueAt: new Date(Date.now() - 23_000).toISOString(),
    }),
  );
  watch({ stats: () => ({ inFlight: 29, parked: 31, queued: 37 }) } as Dispatcher);
  observeDelivery('gave_up', 0.75, 'live');
  for (let times = 0; times < 47; times += 1) observeDelivery('retrying', 1, 'test');
  for (let times = 0; times < 41; times += 1) countJobFailure('one');
  countJobFailure('another');
  const { webhook_oldest_due_seconds: age, ...others } = await readOurs(registry);
  expect(Math.round(age ?? 0)).toBe(23);
  expect(others).toEqual({
    webhook_fan_out_lag_seconds: 13,
    webhook_endpoints_paused: 19,
    job_queue_depth: 17,
    'webhook_attempts_in_flight state=all': 29,
    'webhook_attempts_in_flight state=parked': 31,
    'webhook_attempts_in_flight state=queued': 37,
    'webhook_sandbox_attempts_total status=retrying': 47,
    'job_failures_total task=one': 41,
    'job_failures_total task=another': 1,
  });
  const text = await registry.metrics();
  expect(text).toContain('webhook_attempt_duration_seconds_sum{status="gave_up"} 0.75\n');
  expect(text).not.toMatch(/webhook_attempt_duration_seconds_count\{[^}]*status="retrying"/);
});
