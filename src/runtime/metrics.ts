import { createServer, type Server } from 'node:http';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import {
  LIMIT_NAMES,
  type Limit,
  type ObserveOutcome,
  type ObserveRefusal,
} from '../core/limits.ts';
import { isSandbox } from '../core/sandbox.ts';
import type { Database } from '../db/connections/database.ts';
import type { Config } from './config.ts';
import { createProcessMetrics, type ProcessMetrics } from './process-metrics.ts';
import type { Readiness } from './readiness.ts';

export interface Metrics extends ProcessMetrics {
  readonly observeRequest: ObserveOutcome;
  readonly observeCall: ObserveOutcome;
  readonly observeRefusal: ObserveRefusal;
  /** Counts calls that the request log has left out. */
  readonly countUnlogged: (calls: number) => void;
  /** Makes the gauge show whether the process is ready. */
  readonly watch: (readiness: Pick<Readiness, 'lastSeen'>) => void;
}

/**
 * Creates the metrics of an API process: its requests, its connections, and what waits for one.
 * Requests and calls of sandboxes are other metrics, so that no sum, share or alert of live ones
 * has to leave them out. They have no route: nobody tunes the service by them. What a limit refuses
 * to a sandbox is only there, too. `database` is the process's own, which may be opened later.
 */
export function createMetrics(database: () => Pick<Database, 'pool' | 'waiting'>): Metrics {
  const { registry, observeWait } = createProcessMetrics(() => database().pool);
  const requests = new Histogram({
    name: 'api_request_duration_seconds',
    help:
      'Requests under the base path, by route template, by status and by the limit that has ' +
      'refused them, if one has; without sandboxes.',
    labelNames: ['route', 'status', 'limit'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  const rehearsed = new Counter({
    name: 'api_sandbox_requests_total',
    help: 'Requests with test keys under the base path, by status.',
    labelNames: ['status'],
    registers: [registry],
  });
  const calls = new Histogram({
    name: 'app_call_duration_seconds',
    help:
      'Calls of the tRPC API, by procedure, by class (ok, refused, unavailable or fault) and by ' +
      'the limit that has refused them, if one has; without sandboxes.',
    labelNames: ['procedure', 'class', 'limit'],
    // Fewer than of requests: there are some two hundred procedures.
    buckets: [0.01, 0.05, 0.25, 1, 5],
    registers: [registry],
  });
  const rehearsedCalls = new Counter({
    name: 'app_sandbox_calls_total',
    help: 'Calls of the tRPC API in a sandbox, by class.',
    labelNames: ['class'],
    registers: [registry],
  });
  const refusals = new Counter({
    name: 'api_refusals_total',
    help: 'Requests refused, and connections closed, because of a limit; without sandboxes.',
    labelNames: ['limit'],
    registers: [registry],
  });
  for (const limit of LIMIT_NAMES) refusals.inc({ limit }, 0);
  const answers = new Counter({
    name: 'api_answers_total',
    help:
      'Requests under the base path (rest) and calls of the tRPC API (app), by class: ok, ' +
      'refused, limited (503 for one team or client), unavailable or fault; without sandboxes.',
    labelNames: ['api', 'class'],
    registers: [registry],
  });
  // Prometheus sees no increase in a series that begins with it, as one of a status does.
  for (const api of ['rest', 'app'])
    for (const name of CLASSES) answers.inc({ api, class: name }, 0);
  const unlogged = new Counter({
    name: 'request_log_dropped_total',
    help: 'Calls left out of the request log: too many waited, or the database refused them.',
    registers: [registry],
  });
  const queue = new Gauge({
    name: 'database_queue_length',
    help: 'What waits for its team to have a turn at the database, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect: () => {
      const { statements, slowStatements, transactions } = database().waiting();
      queue.set({ kind: 'statement' }, statements);
      queue.set({ kind: 'slow_statement' }, slowStatements);
      queue.set({ kind: 'transaction' }, transactions);
    },
  });
  let watched: Pick<Readiness, 'lastSeen'> | null = null;
  const ready: Gauge = new Gauge({
    name: 'api_ready',
    help: 'Whether the process can do its work: 1, or 0 with the reason that /readyz tells.',
    labelNames: ['reason'],
    registers: [registry],
    collect: () => {
      ready.reset();
      if (watched === null) return;
      const reason = watched.lastSeen();
      ready.set({ reason: reason ?? 'ready' }, reason === null ? 1 : 0);
    },
  });
  return {
    registry,
    observeWait,
    watch: (readiness) => {
      watched = readiness;
    },
    observeRequest: (route, { status, limit }, seconds, mode) => {
      if (mode === 'test') return rehearsed.inc({ status });
      requests.observe({ route, status, ...(limit && { limit }) }, seconds);
      answers.inc({ api: 'rest', class: answerOf(status, limit) });
    },
    observeCall: (procedure, { status, limit }, seconds, mode) => {
      if (mode === 'test') return rehearsedCalls.inc({ class: classOf(status) });
      calls.observe({ procedure, class: classOf(status), ...(limit && { limit }) }, seconds);
      answers.inc({ api: 'app', class: answerOf(status, limit) });
    },
    observeRefusal: (limit, owner) => {
      if (owner === null || !isSandbox(owner)) refusals.inc({ limit });
    },
    countUnlogged: (calls) => unlogged.inc(calls),
  };
}

const CLASSES = ['ok', 'refused', 'limited', 'unavailable', 'fault'] as const;

/** Limits that refuse one team's burst or one slow client with 503, while the database is well. */
const OWN_MATTERS: ReadonlySet<Limit | null> = new Set<Limit>(['team_queue_length', 'body_speed']);

function answerOf(status: number, limit: Limit | null): (typeof CLASSES)[number] {
  return status === 503 && OWN_MATTERS.has(limit) ? 'limited' : classOf(status);
}

function classOf(status: number): 'ok' | 'refused' | 'unavailable' | 'fault' {
  if (status < 400) return 'ok';
  if (status < 500) return 'refused';
  return status === 503 ? 'unavailable' : 'fault';
}

/**
 * Serves the metrics as Prometheus text at `/metrics`, on METRICS_PORT of METRICS_HOST, which must
 * not be public, and `/healthz`, because a worker has no other port that an orchestrator could ask.
 * Returns null if METRICS_PORT is not set. Rejects with the error of the port (`EADDRINUSE`).
 */
export async function serveMetrics(
  { metricsHost, metricsPort }: Config,
  registry: Registry,
): Promise<Server | null> {
  if (metricsPort === undefined) return null;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(request.url === '/healthz' ? 200 : 404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(metricsPort, metricsHost, () => resolve(server));
  });
}
