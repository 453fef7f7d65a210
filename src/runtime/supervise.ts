import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Part } from './process.ts';

/** `ended` resolves when the run has ended, with the error that ended it if there is one. */
interface Run {
  readonly ended: Promise<unknown>;
}

interface SuperviseOptions<R extends Run> {
  /** For the log: `the job runner`. */
  readonly name: string;
  readonly logger: Logger;
  /** Starts a run; after the first one with the run before, which has ended. */
  readonly start: (before: R | null) => Promise<R>;
  readonly stop: (run: R) => Promise<unknown>;
}

const RESTART_DELAY_MS = 1_000;

/** Runs it until `stop`, anew whenever it ends by itself. Rejects if the first run cannot start. */
export async function supervise<R extends Run>({
  name,
  logger,
  start,
  stop,
}: SuperviseOptions<R>): Promise<Part & { readonly current: () => R }> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current = await start(null);
  const watch = async (): Promise<void> => {
    for (let isRunning = true; !signal.aborted;) {
      if (isRunning) {
        const err = await current.ended;
        if (signal.aborted) return;
        logger.error({ err }, `${name} ended by itself; starting another`);
      }
      await delay(RESTART_DELAY_MS, undefined, { signal });
      isRunning = await start(current).then(
        (run) => {
          current = run;
          return true;
        },
        (err: unknown) => {
          logger.warn({ err }, `${name} cannot be started yet`);
          return false;
        },
      );
    }
  };
  // Only the delay that `stop` aborts can reject here.
  const watching = watch().catch(() => undefined);
  return {
    current: () => current,
    stop: async () => {
      stopping.abort();
      const last = current;
      await stop(last);
      await watching;
      // Another one may have started meanwhile.
      if (current !== last) await stop(current);
    },
  };
}
