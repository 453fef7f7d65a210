import type { Logger } from 'pino';
import { systemClock, type Clock } from '../core/clock.ts';
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
  readonly clock?: Pick<Clock, 'wait'> | undefined;
}

const RESTART_DELAY_MS = 1_000;

/** Runs it until `stop`, anew whenever it ends by itself. Rejects if the first run cannot start. */
export async function supervise<R extends Run>({
  name,
  logger,
  start,
  stop,
  clock = systemClock,
}: SuperviseOptions<R>): Promise<Part & { readonly current: () => R }> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let current = await start(null);
  const startAgain = async (): Promise<R | null> => {
    for (;;) {
      await clock.wait(RESTART_DELAY_MS, signal);
      if (signal.aborted) return null;
      try {
        return await start(current);
      } catch (err) {
        logger.warn({ err }, `${name} cannot be started yet`);
      }
    }
  };
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const err = await current.ended;
      if (signal.aborted) return;
      logger.error({ err }, `${name} ended by itself; starting another`);
      const next = await startAgain();
      if (!next) return;
      current = next;
      logger.info(`${name} runs again`);
    }
  };
  const watching = watch();
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
