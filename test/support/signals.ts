import type { Signals } from '../../src/core/signals.ts';

export interface RecordedSignals<Name extends string> {
  /** To be passed to the component. */
  readonly signal: Signals<Name>;
  /** How often the signal came. */
  count(name: Name): number;
  /** Resolves at the next signal of this name. */
  next(name: Name): Promise<void>;
  /** Resolves once the signal has come `times` times since the beginning. */
  reached(name: Name, times: number): Promise<void>;
}

/** Records the named signals of a component (`core/signals.ts`). */
export function recordSignals<Name extends string>(): RecordedSignals<Name> {
  const counts = new Map<Name, number>();
  const waiting = new Set<{ name: Name; times: number; done: () => void }>();
  const count = (name: Name): number => counts.get(name) ?? 0;
  const reached = (name: Name, times: number): Promise<void> =>
    new Promise((done) => {
      if (count(name) >= times) done();
      else waiting.add({ name, times, done });
    });
  return {
    signal: (name) => {
      counts.set(name, count(name) + 1);
      for (const waiter of waiting) {
        if (waiter.name !== name || waiter.times > count(name)) continue;
        waiting.delete(waiter);
        waiter.done();
      }
    },
    count,
    next: (name) => reached(name, count(name) + 1),
    reached,
  };
}
