import type { Clock } from '../../core/clock.ts';
import type { Caller } from '../caller.ts';
import type { Observe } from '../wire/ask.ts';

/** A statement whose answer took long. */
export interface SlowStatement {
  /** Its name, which stands beside its text in a store. */
  readonly statement: string;
  /** The team whose work it was; null: the process's own. */
  readonly share: string | null;
  /** From sending it to its answer, the statements before it on the connection included. */
  readonly ms: number;
  /** How many of this name have been slow since the last report of it. */
  readonly count: number;
}

/** A statement is reported once in this time, so that a slow database does not flood the log. */
const EVERY_MS = 1_000;

/**
 * Returns what observes the statements of one caller and reports those of `slowMs` and more. By
 * `clock` it counts the time between two reports.
 */
export function createSlowReport(
  slowMs: number,
  report: (slow: SlowStatement) => void,
  clock: Pick<Clock, 'monotonicMs'>,
): (caller: Caller) => Observe {
  const reports = new Map<string, { nextAt: number; count: number }>();
  const note = (statement: string, share: string | null, ms: number): void => {
    const known = reports.get(statement) ?? { nextAt: 0, count: 0 };
    reports.set(statement, known);
    known.count += 1;
    if (clock.monotonicMs() < known.nextAt) return;
    report({ statement, share, ms: Math.round(ms), count: known.count });
    known.nextAt = clock.monotonicMs() + EVERY_MS;
    known.count = 0;
  };
  return ({ share }) =>
    ({ name }, sentAt) => {
      const ms = performance.now() - sentAt;
      if (ms >= slowMs) note(name, share, ms);
    };
}
