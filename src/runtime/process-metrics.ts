import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { Database } from '../db/connections/database.ts';
import { countDroppedLines } from './log.ts';

/** Creates a registry with the metrics that every process has. `readPool` returns its own. */
export function createProcessRegistry(readPool: () => Database['pool']): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  return registry;
}
