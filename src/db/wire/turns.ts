/**
 * Lets the work that follows a large result begin in a turn of the event loop of its own.
 *
 * Node accepts one new connection a turn. Ten pages of half a megabyte that are written in one turn
 * make it last 20 ms, and whoever connects after 50 others waits a second. One page a turn takes as
 * long in all, and a connection waits 2 ms for each one before it.
 */
import { createLine } from '../../core/line.ts';

/** Writing a result of this size as JSON takes about as long as all else in a usual turn. */
export const LARGE_BYTES = 64 * 1024;

const waiting = createLine<() => void>();

/** Calls `begin` in a later turn, after those who came before. */
export function takeTurn(begin: () => void): void {
  waiting.join(begin);
  if (waiting.size() === 1) setImmediate(next);
}

function next(): void {
  const begin = waiting.shift();
  if (waiting.size() > 0) setImmediate(next);
  begin?.();
}
