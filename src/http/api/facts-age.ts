import type { Clock } from '../../core/clock.ts';

/**
 * How long what authentication has found holds for a call. A body may take 30 s, and not every call
 * reads again under its locks who makes it: creations of assignments and replays do not. Whoever
 * waits for a connection or a lock may wait as long as this, too.
 */
const FACTS_MAX_MS = 1_000;

/** Whether what was found at this time (of `clock.monotonicMs`) must be asked for again. */
export function areOutdated(foundAtMs: number, clock: Pick<Clock, 'monotonicMs'>): boolean {
  return clock.monotonicMs() - foundAtMs >= FACTS_MAX_MS;
}
