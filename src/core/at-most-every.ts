import type { Clock } from './clock.ts';

/** Returns `run`, which does nothing if it has run in the last `ms`: for what may fail for days. */
export function atMostEvery<Arguments extends readonly unknown[]>(
  ms: number,
  clock: Pick<Clock, 'monotonicMs'>,
  run: (...given: Arguments) => void,
): (...given: Arguments) => void {
  let nextAt = -Infinity;
  return (...given) => {
    const now = clock.monotonicMs();
    if (now < nextAt) return;
    nextAt = now + ms;
    run(...given);
  };
}
