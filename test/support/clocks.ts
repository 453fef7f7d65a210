import type { Clock } from '../../src/core/clock.ts';

/** The clock of a process whose machine is ahead of the database's by so much. */
export function clockAhead(ms: number): Clock {
  return { now: () => new Date(Date.now() + ms), override: () => null };
}
