import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { systemClock, type Clock } from '../core/clock.ts';
import { MAIL_RESULTS, type MailResult } from '../core/mail.ts';
import { isSandbox, type Mode } from '../core/sandbox.ts';
import type { Database } from '../db/connections/database.ts';
import type { Backlog, WaitingJobs } from '../delivery/backlog-store.ts';
import type { Dispatcher } from '../delivery/dispatcher.ts';
import type { JobPools } from './job-thread.ts';
import { createProcessMetrics, type ProcessMetrics } from './process-metrics.ts';

export interface WorkerMetrics extends ProcessMetrics {
  readonly observeDelivery: (status: string, seconds: number, mode: Mode) => void;
  /** Counts an attempt that a fault of ours has prevented. */
  readonly countFault: (mode: Mode) => void;
  readonly countJobFailure: (task: string) => void;
  readonly countMail: (result: MailResult) => void;
  /** Shows that no job of these tasks has failed yet. An increase is seen only in such a series. */
  readonly knowTasks: (tasks: readonly string[]) => void;
  /** The connections of the jobs' thread; null: it has none. */
  readonly showPools: (pools: JobPools | null) => void;
  /** Makes the gauges show the attempts of this dispatcher. */
  readonly watch: (dispatcher: Dispatcher) => void;
}

/**
 * Creates the metrics of a worker process: the attempts of this worker, and the backlog of all
 * workers, which each scrape reads. Sandboxes are in none of these figures, so that no alert has to
 * leave them out; their attempts are a metric of their own. Only the attempts in flight are all:
 * they tell how full the worker is, whosever its work is. `database` is the process's own, which
 * may be opened later.
 */
export function createWorkerMetrics(
  database: () => Pick<Database, 'pool'>,
  readBacklog: () => Promise<Backlog>,
  clock: Pick<Clock, 'now'> = systemClock,
): WorkerMetrics {
  const { registry, observeWait } = createProcessMetrics(() => database().pool);
  const attempts = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'Delivery attempts by the resulting status of the delivery: ok, retrying or gave_up.',
    labelNames: ['status'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  const rehearsed = new Counter({
    name: 'webhook_sandbox_attempts_total',
    help: 'Delivery attempts of sandboxes, by the resulting status of the delivery.',
    labelNames: ['status'],
    registers: [registry],
  });
  const faults = new Counter({
    name: 'webhook_attempt_faults_total',
    help: 'Delivery attempts that a fault of ours has prevented. They are tried again.',
    registers: [registry],
  });
  const failures = new Counter({
    name: 'job_failures_total',
    help: 'Jobs of this worker that failed, by task. They are tried again.',
    labelNames: ['task'],
    registers: [registry],
  });
  const mails = new Counter({
    name: 'mails_total',
    help:
      'Tries of this worker to send a mail, by result: taken, refused or deferred (for its ' +
      'recipient), or failed; without sandboxes.',
    labelNames: ['result'],
    registers: [registry],
  });
  // Prometheus sees no increase in a series that begins with it.
  for (const result of MAIL_RESULTS) mails.inc({ result }, 0);
  const connections = new Gauge({
    name: 'job_pool_connections',
    help: 'Connections of the thread of the jobs: all, idle ones, and what waits for one, by pool.',
    labelNames: ['pool', 'state'],
    registers: [registry],
  });
  let dispatcher: Dispatcher | null = null;
  addInFlightGauge(registry, () => dispatcher?.stats());
  addLimitGauge(
    registry,
    () => dispatcher?.atLimit().filter(({ team_id: teamId }) => !isSandbox(teamId)).length ?? 0,
  );
  addBacklogGauges(registry, readBacklog, clock);
  return {
    registry,
    observeWait,
    observeDelivery: (status, seconds, mode) => {
      if (mode === 'test') rehearsed.inc({ status });
      else attempts.observe({ status }, seconds);
    },
    countFault: (mode) => {
      if (mode === 'live') faults.inc();
    },
    countJobFailure: (task) => failures.inc({ task }),
    countMail: (result) => mails.inc({ result }),
    knowTasks: (tasks) => {
      for (const task of tasks) failures.inc({ task }, 0);
    },
    showPools: (pools) => {
      connections.reset();
      for (const [pool, counts] of Object.entries(pools ?? {}))
        for (const [state, count] of Object.entries(counts))
          connections.set({ pool, state }, count);
    },
    watch: (watched) => {
      dispatcher = watched;
    },
  };
}

function addInFlightGauge(
  registry: Registry,
  readStats: () => ReturnType<Dispatcher['stats']> | undefined,
): void {
  const inFlight = new Gauge({
    name: 'webhook_attempts_in_flight',
    help:
      'Attempts of this worker that wait for a response. "queued" ones wait for attempts at ' +
      'their endpoint; "slow" ones are of endpoints whose last attempt was slow.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      const stats = readStats();
      inFlight.set({ state: 'all' }, stats?.inFlight ?? 0);
      inFlight.set({ state: 'slow' }, stats?.slow ?? 0);
      inFlight.set({ state: 'queued' }, stats?.queued ?? 0);
    },
  });
}

function addLimitGauge(registry: Registry, countAtLimit: () => number): void {
  const atLimit: Gauge = new Gauge({
    name: 'webhook_endpoints_at_limit',
    help: 'Webhook endpoints with as many attempts of this worker in flight as they may have.',
    registers: [registry],
    collect: () => atLimit.set(countAtLimit()),
  });
}

function addBacklogGauges(
  registry: Registry,
  readBacklog: () => Promise<Backlog>,
  clock: Pick<Clock, 'now'>,
): void {
  let reading: Promise<Backlog> | null = null;
  // All gauges of a scrape are collected at once. Each waits for the same reading: one that another
  // gauge sets would show the figure of the scrape before.
  const read = (): Promise<Backlog> =>
    (reading ??= readBacklog().finally(() => {
      reading = null;
    }));
  const add = (name: string, help: string, valueOf: (backlog: Backlog) => number): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => gauge.set(valueOf(await read())),
    });
  };
  const addByTask = (name: string, help: string, valueOf: (jobs: WaitingJobs) => number): void => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: ['task'],
      registers: [registry],
      collect: async () => {
        const { jobs } = await read();
        gauge.reset();
        for (const waiting of jobs) gauge.set({ task: waiting.task }, valueOf(waiting));
      },
    });
  };
  add(
    'webhook_oldest_due_seconds',
    'Age of the oldest delivery that is due and that no worker has claimed; 0: none. Webhook ' +
      'endpoints at their own limit in this worker do not count.',
    ({ oldestDueAt }) =>
      oldestDueAt === null
        ? 0
        : Math.max(0, (clock.now().getTime() - Date.parse(oldestDueAt)) / 1000),
  );
  add(
    'webhook_fan_out_lag_seconds',
    'Age of the oldest event that has no deliveries yet; 0: none.',
    ({ fanOutLagS }) => fanOutLagS,
  );
  add(
    'webhook_endpoints_paused',
    'Endpoints that were paused after failures.',
    ({ pausedEndpoints }) => pausedEndpoints,
  );
  const retries: Gauge = new Gauge({
    name: 'webhook_retry_backlog',
    help:
      'Deliveries that wait for their next attempt, by the age of the delivery. At most 500 ' +
      'are counted of each range of times until the attempt: 10 min, 1 h, 8 h, longer.',
    labelNames: ['age'],
    registers: [registry],
    collect: async () => {
      const counts = (await read()).retries;
      for (const [age, count] of Object.entries(counts)) retries.set({ age }, count);
    },
  });
  addByTask('job_queue_depth', 'Jobs that are due and that no worker runs.', ({ count }) => count);
  addByTask(
    'job_oldest_due_seconds',
    'How long the job that has been due longest has waited for a worker.',
    ({ oldest_s }) => oldest_s,
  );
}
