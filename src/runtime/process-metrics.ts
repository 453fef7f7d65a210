import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../db/connections/database.ts';
import type { ObserveWait } from '../db/connections/waits.ts';
import { countDroppedLines } from './log.ts';

export interface ProcessMetrics {
  readonly registry: Registry;
  readonly observeWait: ObserveWait;
}

/**
 * How often the event loop is looked at. Each 10 ms, as is usual, that is a third of what a process
 * without work computes.
 */
const LOOP_CHECK_MS = 50;

/** Creates a registry with the metrics that every process has. `readPool` returns its own. */
export function createProcessMetrics(readPool: () => Database['pool']): ProcessMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_CHECK_MS });
  const dropped: Counter = new Counter({
    name: 'log_lines_dropped_total',
    help: 'Lines of the log that were dropped because nobody reads standard output.',
    registers: [registry],
    collect: () => {
      dropped.reset();
      dropped.inc(countDroppedLines());
    },
  });
  const connections = new Gauge({
    name: 'database_pool_connections',
    help: 'Connections of this process: all, and idle ones.',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      const pool = readPool();
      connections.set({ state: 'total' }, pool.totalCount);
      connections.set({ state: 'idle' }, pool.idleCount);
    },
  });
  const waits = new Histogram({
    name: 'database_pool_wait_seconds',
    help: 'How long work has waited for its turn and a connection, by kind; what got one.',
    labelNames: ['kind'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  return { registry, observeWait: (kind, seconds) => waits.observe({ kind }, seconds) };
}
