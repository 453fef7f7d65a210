import type { Server } from 'node:http';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Config } from './config.ts';
import type { Backlog } from '../delivery/backlog-store.ts';
import type { Dispatcher } from '../delivery/dispatcher.ts';
import { serveMetrics } from './metrics.ts';

export interface WorkerMetrics {
  readonly registry: Registry;
  readonly observeDelivery: (status: string, seconds: number) => void;
  /** Whose attempts the gauges show. */
  readonly watch: (dispatcher: Dispatcher) => void;
}

/** What a person on call needs of the deliveries: outcomes, what is in flight, and how old the oldest waiting thing is. */
export function createWorkerMetrics(readBacklog: () => Promise<Backlog>): WorkerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const attempts = new Histogram({
    name: 'webhook_attempt_duration_seconds',
    help: 'Delivery attempts by what became of the delivery: ok, retrying or gave_up.',
    labelNames: ['status'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  let watched: Dispatcher | null = null;
  const inFlight = new Gauge({
    name: 'webhook_attempts_in_flight',
    help: 'Attempts of this worker that wait for an answer; "parked" are those that have waited long and gave their slot to others.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      const stats = watched?.stats();
      inFlight.set({ state: 'all' }, stats?.inFlight ?? 0);
      inFlight.set({ state: 'parked' }, stats?.parked ?? 0);
      inFlight.set({ state: 'queued' }, stats?.queued ?? 0);
    },
  });
  const gauge = (name: string, help: string): Gauge =>
    new Gauge({ name, help, registers: [registry] });
  const oldestDue = gauge(
    'webhook_oldest_due_seconds',
    'Age of the oldest delivery that is due and that no worker has in hand; 0: none.',
  );
  const fanOutLag = gauge(
    'webhook_fan_out_lag_seconds',
    'Age of the oldest event that has no deliveries yet; 0: none.',
  );
  const paused = gauge('webhook_endpoints_paused', 'Endpoints that were paused after failures.');
  const jobs = new Gauge({
    name: 'job_queue_depth',
    help: 'Jobs that are due.',
    registers: [registry],
    collect: async () => {
      const { oldestDueAt, ...backlog } = await readBacklog();
      const ageS = oldestDueAt === null ? 0 : (Date.now() - Date.parse(oldestDueAt)) / 1000;
      oldestDue.set(Math.max(0, ageS));
      fanOutLag.set(backlog.fanOutLagS);
      paused.set(backlog.pausedEndpoints);
      jobs.set(backlog.jobs);
    },
  });
  return {
    registry,
    observeDelivery: (status, seconds) => attempts.observe({ status }, seconds),
    watch: (dispatcher) => {
      watched = dispatcher;
    },
  };
}

/** On METRICS_PORT, where that is set; `npm start` leaves it to the API. */
export async function serveWorkerMetrics(
  config: Config,
  { registry }: WorkerMetrics,
): Promise<Server | null> {
  if (config.metricsPort === undefined) return null;
  return serveMetrics(registry, config.host, config.metricsPort);
}
