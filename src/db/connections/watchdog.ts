import type pg from 'pg';
import { systemClock, type Clock } from '../../core/clock.ts';
import { breakConnection } from '../wire/primary-client.ts';

/** Breaks connections that do not answer. */
export interface Watchdog {
  /** Watches the connection until the statement's result arrives. */
  guard<T>(client: pg.ClientBase, result: Promise<T>): Promise<T>;
  stop(): void;
}

/** A connection is broken in the first round after this many full rounds of silence. */
const SILENT_ROUNDS = 10;

/**
 * Breaks connections that have been silent for `timeoutMs`, at the latest a tenth of that later.
 *
 * A connection answers its statements in the order in which they were sent. Its silence began when
 * its oldest unanswered statement was sent, or at its last answer, whichever is later. So a new
 * statement does not prolong the silence, and a statement is not blamed for the time that it waited
 * behind a slow one.
 *
 * Silence is counted in rounds of one timer, not in milliseconds. While our own event loop stalls,
 * answers lie unread in the sockets. A stall of any length counts as one round.
 *
 * pg's own `query_timeout` uses a timer per statement, which keeps the rows alive until the next
 * full garbage collection and costs a third of a list request's CPU.
 */
export function startWatchdog(
  timeoutMs: number,
  clock: Pick<Clock, 'every'> = systemClock,
): Watchdog {
  const silences = new Map<pg.ClientBase, { statements: number; sinceRound: number }>();
  let round = 0;
  const breakSilent = (): void => {
    for (const [client, { sinceRound }] of silences)
      if (round - sinceRound > SILENT_ROUNDS)
        breakConnection(client, new Error('Query read timeout'));
  };
  const stop = clock.every(timeoutMs / SILENT_ROUNDS, () => {
    round += 1;
    // Runs after the event loop has read the sockets, because this timer may end a stall.
    setImmediate(breakSilent);
  });
  return {
    guard: async (client, result) => {
      const silence = silences.get(client) ?? { statements: 0, sinceRound: round };
      if (silence.statements === 0) silences.set(client, silence);
      silence.statements += 1;
      try {
        return await result;
      } finally {
        silence.statements -= 1;
        silence.sinceRound = round;
        if (silence.statements === 0) silences.delete(client);
      }
    },
    stop,
  };
}

/** Watches all statements of a connection whose user is a library. */
export function guardAll(watchdog: Watchdog, client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: readonly unknown[]) => unknown;
  const guarded = (...args: readonly unknown[]): unknown => {
    const answer = args.at(-1);
    if (typeof answer !== 'function') {
      const result = query(...args);
      return result instanceof Promise ? watchdog.guard(client, result) : result;
    }
    // The query of a pool asks so.
    const { promise, resolve } = Promise.withResolvers<void>();
    void watchdog.guard(client, promise);
    return query(...args.slice(0, -1), (...given: readonly unknown[]) => {
      resolve();
      answer(...given);
    });
  };
  client.query = guarded as typeof client.query;
}
