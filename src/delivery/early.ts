/**
 * First attempts that begin before their deliveries are inserted. The fan-out has locked the events
 * and waits a moment: what ends well meanwhile is inserted as it is then, and needs no update.
 */
import type { RecordedAttempt } from './result-store.ts';

/** An answer within this time is quick. The fan-out waits no longer for it, and only if so far. */
export const QUICK_MS = 100;

/** The early attempts of one fan-out. */
export interface EarlyAttempts {
  /** Whether the deliveries are still to be inserted. */
  readonly isOpen: boolean;
  /** Keeps the result of an attempt. Returns false if it comes too late for that. */
  keep(attempt: RecordedAttempt): boolean;
  /** Resolves when these deliveries have been attempted, or after the time for quick ones. */
  settle(deliveryIds: Iterable<string>): Promise<void>;
  /** The results so far. */
  readonly kept: readonly RecordedAttempt[];
  /** From now on, results come too late: the deliveries are inserted, or the fan-out has failed. */
  close(): void;
}

export function newEarlyAttempts(): EarlyAttempts {
  const kept: RecordedAttempt[] = [];
  const awaited = new Set<string>();
  let isOpen = true;
  let settled = (): void => undefined;
  return {
    get isOpen() {
      return isOpen;
    },
    kept,
    keep: (attempt) => {
      if (!isOpen) return false;
      kept.push(attempt);
      if (awaited.delete(attempt.id) && awaited.size === 0) settled();
      return true;
    },
    settle: async (deliveryIds) => {
      const ended = new Set(kept.map(({ id }) => id));
      for (const id of deliveryIds) if (!ended.has(id)) awaited.add(id);
      if (awaited.size === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, QUICK_MS);
        settled = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
    close: () => {
      isOpen = false;
    },
  };
}
