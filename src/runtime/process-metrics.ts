import { collectDefaultMetrics, Counter, Registry } from 'prom-client';
import { countDroppedLines } from './log.ts';

/** Creates a registry with the metrics that every process has. */
export function createProcessRegistry(): Registry {
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
  return registry;
}
