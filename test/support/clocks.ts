import { fixedClock, systemClock, type Cancel, type Clock } from '../../src/core/clock.ts';

/** The clock of a process whose machine is ahead of the database's by so much. */
export function clockAhead(ms: number): Clock {
  return { ...systemClock, now: () => new Date(Date.now() + ms), override: () => null };
}

/** A clock whose dates and monotonic time stand still. Its timers are the system's. */
export function stillClock(now: Date): Clock {
  return { ...fixedClock(now), monotonicMs: () => 0 };
}

interface Pending {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock for tests whose timers, too, stand still: only `advance` runs those that are due. */
export function steppedClock(
  start: Date,
): Clock & { advance(ms: number): void; readonly waiting: number } {
  let nowMs = 0;
  // In the order in which they were started: of two that are due at once, the first one runs first.
  const pending = new Set<Pending>();
  const now = (): Date => new Date(start.getTime() + nowMs);
  const after = (ms: number, run: () => void): Cancel => {
    const timer = { dueMs: nowMs + Math.max(0, ms), run };
    pending.add(timer);
    return () => pending.delete(timer);
  };
  const next = (untilMs: number): Pending | null =>
    [...pending]
      .filter(({ dueMs }) => dueMs <= untilMs)
      .reduce<Pending | null>((first, it) => (first && first.dueMs <= it.dueMs ? first : it), null);
  return {
    now,
    override: now,
    monotonicMs: () => nowMs,
    after,
    every: (ms, run) => {
      let cancel = (): void => {};
      const again = (): void => {
        cancel = after(ms, () => {
          again();
          run();
        });
      };
      again();
      return () => cancel();
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const cancel = after(ms, resolve);
        signal?.addEventListener('abort', () => {
          cancel();
          resolve();
        });
      }),
    /** How many timers have been started and have neither run nor been cancelled. */
    get waiting() {
      return pending.size;
    },
    advance: (ms) => {
      const untilMs = nowMs + ms;
      for (let due = next(untilMs); due; due = next(untilMs)) {
        pending.delete(due);
        nowMs = Math.max(nowMs, due.dueMs);
        due.run();
      }
      nowMs = untilMs;
    },
  };
}
