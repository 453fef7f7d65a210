import { isCancelled } from './errors.ts';
import type { Send } from './single-statements.ts';

/**
 * Waits until the end of the event loop's turn for the first statement of a caller, to travel with
 * it: one packet there, and one back. If none comes, what waits is sent alone.
 */
export interface Companion {
  /** Sends what waits, if anything does, by `run`: right before the statement of the caller. */
  join(run: Run): void;
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
    companion: { join },
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
