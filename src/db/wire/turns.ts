/**
 * Lets the work that follows a large result begin in a turn of the event loop of its own.
 *
 * Ten pages of half a megabyte that are written in one turn make it last 20 ms, and everybody waits
 * for its end. One page a turn takes as long in all, but others come in between.
 */
import { createFairQueue } from '../../core/fair-queue.ts';

/** Writing a result of this size as JSON takes about as long as all else in a usual turn. */
export const LARGE_BYTES = 64 * 1024;

const turns = createFairQueue({ places: 1, perOwner: 1 });

/** Calls `begin` in a later turn, after those who came before. */
export function takeTurn(begin: () => void): void {
  const admit = (leave: () => void): void => {
    setImmediate(() => {
      leave();
      begin();
    });
  };
  turns.enter({ owner: null, admit });
}
