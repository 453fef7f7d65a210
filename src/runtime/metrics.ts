import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Mode } from '../core/sandbox.ts';
import type { Database } from '../db/connections/database.ts';
import type { Config } from './config.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly observeRequest: (route: string, status: number, seconds: number, mode: Mode) => void;
}

/**
 * Creates the metrics of an API process: its requests, its connections, and what waits for one.
 * Requests of sandboxes are another metric, so that no sum, share or alert of live ones has to
 * leave them out. It has no route: nobody tunes the service by them.
 */
export function createMetrics({ pool, waiting }: Pick<Database, 'pool' | 'waiting'>): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'api_request_duration_seconds',
    help: 'Requests under the base path, by route template and status; without sandboxes.',
    labelNames: ['route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  const rehearsed = new Counter({
    name: 'api_sandbox_requests_total',
    help: 'Requests with test keys under the base path, by status.',
    labelNames: ['status'],
    registers: [registry],
  });
  const connections = new Gauge({
    name: 'database_pool_connections',
    help: 'Connections of this process: all, and idle ones.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      connections.set({ state: 'total' }, pool.totalCount);
      connections.set({ state: 'idle' }, pool.idleCount);
    },
  });
  const queue = new Gauge({
    name: 'database_queue_length',
    help: 'What waits for its team to have a turn at the database, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect: () => {
      const { statements, slowStatements, transactions } = waiting();
      queue.set({ kind: 'statement' }, statements);
      queue.set({ kind: 'slow_statement' }, slowStatements);
      queue.set({ kind: 'transaction' }, transactions);
    },
  });
  return {
    registry,
    observeRequest: (route, status, seconds, mode) => {
      if (mode === 'test') rehearsed.inc({ status });
      else requests.observe({ route, status }, seconds);
    },
  };
}

/**
 * Serves the metrics as Prometheus text at `/metrics`, on METRICS_PORT, which must not be public.
 * Returns null if METRICS_PORT is not set. Rejects with the error of the port (`EADDRINUSE`).
 */
export async function serveMetrics(
  { host, metricsPort }: Config,
  registry: Registry,
): Promise<Server | null> {
  if (metricsPort === undefined) return null;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(metricsPort, host, () => resolve(server));
  });
}
