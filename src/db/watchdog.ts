import type { Duplex } from 'node:stream';
import type pg from 'pg';

/** After waiting this long for a result, the database counts as unreachable. */
const QUERY_TIMEOUT_MS = 5_000;

/** Breaks connections that do not answer. */
export interface Watchdog {
  /** Watches the connection until the statement's result arrives. */
  guard<T>(client: pg.PoolClient, result: Promise<T>): Promise<T>;
  stop(): void;
}

/**
 * Breaks connections that have not answered a statement for `QUERY_TIMEOUT_MS`. One timer watches
 * all connections. pg's own `query_timeout` uses a timer per statement, which keeps the rows alive
 * until the next full garbage collection and costs a third of a list request's CPU.
 */
export function startWatchdog(): Watchdog {
  const unanswered = new Map<pg.PoolClient, { statements: number; sinceMs: number }>();
  const timer = setInterval(() => {
    const lateMs = performance.now() - QUERY_TIMEOUT_MS;
    for (const [client, { sinceMs }] of unanswered) {
      if (sinceMs < lateMs) streamOf(client).destroy(new Error('Query read timeout'));
    }
  }, QUERY_TIMEOUT_MS / 10);
  timer.unref();
  return {
    guard: async (client, result) => {
      const entry = unanswered.get(client) ?? { statements: 0, sinceMs: 0 };
      if (entry.statements === 0) unanswered.set(client, entry);
      entry.statements += 1;
      entry.sinceMs = performance.now();
      try {
        return await result;
      } finally {
        entry.statements -= 1;
        entry.sinceMs = performance.now();
        if (entry.statements === 0) unanswered.delete(client);
      }
    },
    stop: () => clearInterval(timer),
  };
}

/** pg has no public way to break a connection. */
function streamOf(client: pg.PoolClient): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
