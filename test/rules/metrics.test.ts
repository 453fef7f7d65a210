// Each series of the metrics shows its own number. Every number here is another one, so that two
// that have changed places are seen, and one that nothing sets.
import type { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { LIMIT_NAMES } from '../../src/core/limits.ts';
import type { Database } from '../../src/db/connections/database.ts';
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

const poolOf = (totalCount: number, idleCount: number) =>
  ({ totalCount, idleCount }) as Database['pool'];

test('of an API process', async () => {
  const metrics = createMetrics(() => ({
    pool: poolOf(11, 7),
    waiting: () => ({ statements: 2, slowStatements: 3, transactions: 5 }),
  }));
  const { registry, observeRequest, observeCall, observeRefusal, observeWait } = metrics;
  metrics.countUnlogged(61);
  LIMIT_NAMES.forEach((limit, place) => {
    for (let times = 0; times < 100 + place; times += 1) observeRefusal(limit, 'team_a');
    observeRefusal(limit, null);
    observeRefusal(limit, 'team_a:sandbox');
  });
  observeWait('transaction', 0.75);
  const limit = 'body_speed';
  observeRequest('GET /me', { status: 200, limit: null }, 0.25, 'live');
  observeRequest('GET /me', { status: 503, limit }, 0.25, 'live');
  for (const status of [503, 503]) observeRequest('GET /me', { status, limit: null }, 1, 'live');
  // Of a limit that makes the database unavailable to a team that has done nothing.
  observeRequest('GET /me', { status: 503, limit: 'team_queue_time' }, 1, 'live');
  for (const status of [400, 429, 499, 404])
    observeRequest('GET /me', { status, limit: null }, 1, 'live');
  const fault = { status: 500, limit: null };
  for (let times = 0; times < 43; times += 1) observeRequest('GET /me', fault, 1, 'test');
  for (const status of [200, 499, 422, 503, 500])
    observeCall('v1.me.get', { status, limit: null }, 0.5, 'live');
  observeCall('v1.me.get', { status: 503, limit }, 0.5, 'live');
  for (let times = 0; times < 47; times += 1) observeCall('v1.me.get', fault, 0.5, 'test');
  expect(await readOurs(registry)).toEqual({
    log_lines_dropped_total: 0,
    request_log_dropped_total: 61,
    'database_pool_connections state=total': 11,
    'database_pool_connections state=idle': 7,
    'database_queue_length kind=statement': 2,
    'database_queue_length kind=slow_statement': 3,
    'database_queue_length kind=transaction': 5,
    'api_sandbox_requests_total status=500': 43,
    'app_sandbox_calls_total class=fault': 47,
    'api_answers_total api=rest class=ok': 1,
    'api_answers_total api=rest class=refused': 4,
    'api_answers_total api=rest class=limited': 1,
    'api_answers_total api=rest class=unavailable': 3,
    'api_answers_total api=rest class=fault': 0,
    'api_answers_total api=app class=ok': 1,
    'api_answers_total api=app class=refused': 2,
    'api_answers_total api=app class=limited': 1,
    'api_answers_total api=app class=unavailable': 1,
    'api_answers_total api=app class=fault': 1,
    ...Object.fromEntries(
      LIMIT_NAMES.map((limit, place) => [`api_refusals_total limit=${limit}`, 101 + place]),
    ),
  });
  const text = await registry.metrics();
  expect(text).toContain('api_request_duration_seconds_sum{route="GET /me",status="200"} 0.25\n');
  const refused = 'count{route="GET /me",status="503",limit="body_speed"} 1';
  expect(text).toContain(`api_request_duration_seconds_${refused}\n`);
  expect(text).toContain('count{procedure="v1.me.get",class="unavailable",limit="body_speed"} 1\n');
  expect(text).toContain('database_pool_wait_seconds_sum{kind="transaction"} 0.75\n');
  // An alert on live requests sees none of a sandbox.
  expect(text).not.toMatch(/api_request_duration_seconds_count\{[^}]*status="500"/);
  const counted = (name: string): string =>
    `app_call_duration_seconds_count{procedure="v1.me.get",class="${name}"}`;
  for (const [name, count] of Object.entries({ ok: 1, refused: 2, unavailable: 1, fault: 1 }))
    expect(text).toContain(`${counted(name)} ${count}\n`);
});

test('of an API process say whether it is ready, and else why not', async () => {
  const { registry, watch } = createMetrics(() => ({
    pool: poolOf(0, 0),
    waiting: () => ({ statements: 0, slowStatements: 0, transactions: 0 }),
  }));
  expect(await registry.metrics()).not.toContain('api_ready{');
  let reason: 'disk_full' | null = null;
  watch({ lastSeen: () => reason });
  expect(await registry.metrics()).toContain('\napi_ready{reason="ready"} 1\n');
  reason = 'disk_full';
  const text = await registry.metrics();
  expect(text).toContain('\napi_ready{reason="disk_full"} 0\n');
  expect(text).not.toContain('reason="ready"');
});

test('a queue that is empty again is none of them', async () => {
  const backlog = {
    fanOutLagS: 0,
    pausedEndpoints: 0,
    retries: { under_1h: 0, under_6h: 0, under_1d: 0, older: 0 },
    oldestDueAt: null,
  };
  const waiting = [[{ task: 'mail', count: 17, oldest_s: 43 }], []];
  const { registry } = createWorkerMetrics(
    () => ({ pool: poolOf(1, 1) }),
    () => Promise.resolve({ ...backlog, jobs: waiting.shift() ?? [] }),
  );
  const readQueues = async () =>
    Object.entries(await readOurs(registry)).filter(([name]) => name.startsWith('job_'));
  expect(await readQueues()).toEqual([
    ['job_queue_depth task=mail', 17],
    ['job_oldest_due_seconds task=mail', 43],
  ]);
  expect(await readQueues()).toEqual([]);
});

test('of a worker', async () => {
  const metrics = createWorkerMetrics(
    () => ({ pool: poolOf(53, 59) }),
    () =>
      Promise.resolve({
        fanOutLagS: 13,
        jobs: [
          { task: 'mail', count: 17, oldest_s: 43 },
          { task: 'crm', count: 1, oldest_s: 0 },
        ],
        pausedEndpoints: 19,
        retries: { under_1h: 61, under_6h: 67, under_1d: 71, older: 73 },
        oldestDueAt: new Date(Date.now() - 23_000).toISOString(),
      }),
  );
  const { registry, observeDelivery, observeWait, countJobFailure, showPools, watch } = metrics;
  for (const mode of ['live', 'live', 'test'] as const) metrics.countFault(mode);
  watch({
    stats: () => ({ inFlight: 29, slow: 31, queued: 37 }),
    atLimit: () => [
      { team_id: 'team_a', endpoint_id: 'whe_1' },
      { team_id: 'team_a:sandbox', endpoint_id: 'whe_2' },
    ],
  } as unknown as Dispatcher);
  // An increase is seen only in a series that was there before.
  metrics.knowTasks(['one', 'quiet']);
  observeWait('slow_statement', 0.25);
  observeDelivery('gave_up', 0.75, 'live');
  for (let times = 0; times < 47; times += 1) observeDelivery('retrying', 1, 'test');
  for (let times = 0; times < 41; times += 1) countJobFailure('one');
  countJobFailure('another');
  metrics.countMail('refused');
  const of = (total: number, idle: number, waiting: number) => ({ total, idle, waiting });
  showPools({ jobs: of(101, 103, 107), runner: of(109, 113, 127), mail_runner: of(131, 137, 139) });
  const { webhook_oldest_due_seconds: age, ...others } = await readOurs(registry);
  expect(Math.round(age ?? 0)).toBe(23);
  expect(others).toEqual({
    log_lines_dropped_total: 0,
    'database_pool_connections state=total': 53,
    'database_pool_connections state=idle': 59,
    webhook_fan_out_lag_seconds: 13,
    webhook_endpoints_paused: 19,
    'webhook_retry_backlog age=under_1h': 61,
    'webhook_retry_backlog age=under_6h': 67,
    'webhook_retry_backlog age=under_1d': 71,
    'webhook_retry_backlog age=older': 73,
    webhook_endpoints_at_limit: 1,
    webhook_attempt_faults_total: 2,
    'job_queue_depth task=mail': 17,
    'job_queue_depth task=crm': 1,
    'job_oldest_due_seconds task=mail': 43,
    'job_oldest_due_seconds task=crm': 0,
    'webhook_attempts_in_flight state=all': 29,
    'webhook_attempts_in_flight state=slow': 31,
    'webhook_attempts_in_flight state=queued': 37,
    'webhook_sandbox_attempts_total status=retrying': 47,
    'job_pool_connections pool=jobs state=total': 101,
    'job_pool_connections pool=jobs state=idle': 103,
    'job_pool_connections pool=jobs state=waiting': 107,
    'job_pool_connections pool=runner state=total': 109,
    'job_pool_connections pool=runner state=idle': 113,
    'job_pool_connections pool=runner state=waiting': 127,
    'job_pool_connections pool=mail_runner state=total': 131,
    'job_pool_connections pool=mail_runner state=idle': 137,
    'job_pool_connections pool=mail_runner state=waiting': 139,
    'mails_total result=taken': 0,
    'mails_total result=refused': 1,
    'mails_total result=deferred': 0,
    'mails_total result=failed': 0,
    'job_failures_total task=one': 41,
    'job_failures_total task=quiet': 0,
    'job_failures_total task=another': 1,
  });
  // A thread that has ended holds none.
  showPools(null);
  const text = await registry.metrics();
  expect(text).not.toContain('job_pool_connections{');
  expect(text).toContain('webhook_attempt_duration_seconds_sum{status="gave_up"} 0.75\n');
  expect(text).toContain('database_pool_wait_seconds_sum{kind="slow_statement"} 0.25\n');
  expect(text).not.toMatch(/webhook_attempt_duration_seconds_count\{[^}]*status="retrying"/);
});
