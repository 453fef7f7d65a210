import type { Caller } from '../caller.ts';
import { isCancelled } from '../errors.ts';
import type { Send } from './single-statements.ts';

/**
 * Waits for the first statement of a caller, to travel with it: one packet there, and one back. If
 * none comes until `goAlone`, or in this turn of the event loop, what waits is sent alone.
 */
export interface Companion {
  /** Sends what waits, if anything does, by `run`: right before the statement of the caller. */
  readonly join: (run: Run) => void;
  /**
   * Call it as soon as the caller is known to have no statement. While many requests arrive, a turn
   * of the event loop is long.
   */
  readonly goAlone: () => void;
}

/** A caller, and perhaps something short that waits for its first statement. */
export interface AccompaniedCaller extends Caller {
  readonly companion?: Companion | null;
}

type Run = <T>(send: Send<T>) => Promise<T>;

/** Returns a companion, and what makes a statement wait in it. */
export function createCompanion(sendAlone: Run): {
  readonly companion: Companion;
  readonly send: Run;
} {
  let begin: ((run: Run) => void) | null = null;
  const join = (run: Run): void => {
    const waiting = begin;
    begin = null;
    waiting?.(run);
  };
  return {
    companion: { join, goAlone: () => join(sendAlone) },
    send: (send) =>
      new Promise((resolve, reject) => {
        join(sendAlone);
        const turn = setImmediate(join, sendAlone);
        begin = (run) => {
          clearImmediate(turn);
          run(send)
            // A caller's connection has less time for a statement. Nothing of it has happened.
            .catch((error: unknown) => {
              if (run === sendAlone || !isCancelled(error)) throw error;
              return sendAlone(send);
            })
            .then(resolve, reject);
        };
      }),
  };
}
