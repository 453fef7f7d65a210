/**
 * Runs the jobs of a worker in a thread of their own. Deliveries share the process with them, and a
 * job that computes for long, for instance over a large page of a CRM, must not stop the event loop
 * of the deliveries. A thread that ends by itself is replaced; its jobs are given back within
 * seconds, as those of a killed worker are (`db/jobs/job-locks.ts`).
 */
import { Worker } from 'node:worker_threads';
import { systemClock, type Clock } from '../core/clock.ts';
import type { MailResult } from '../core/mail.ts';
import type { ProcessLogger } from './log.ts';
import type { Part } from './process.ts';
import { supervise } from './supervise.ts';

/** What the thread says to the process. */
export type JobThreadMessage =
  | { readonly kind: 'running'; readonly tasks: readonly string[] }
  | { readonly kind: 'failed'; readonly task: string }
  | { readonly kind: 'mail'; readonly result: MailResult }
  | { readonly kind: 'pools'; readonly pools: JobPools }
  /** A line for the log of the process: two writers would mix their lines. */
  | { readonly kind: 'log'; readonly line: string };

/**
 * The connections of the thread, by pool and by state: `jobs` are what jobs work with, the others
 * are those of graphile-worker, for jobs and for mails. `waiting`: what waits for a connection.
 */
export type JobPools = Readonly<
  Record<'jobs' | 'runner' | 'mail_runner', Readonly<Record<'total' | 'idle' | 'waiting', number>>>
>;

/** What the process says to the thread. */
export const STOP = 'stop';

export interface JobThreadOptions {
  /** The module that the thread runs. */
  readonly entry: URL;
  /** What the module needs to know; its `workerData`. */
  readonly data: unknown;
  readonly logger: ProcessLogger;
  /** Called with the names of all tasks when the thread runs, once for each thread. */
  readonly onTasks?: (tasks: readonly string[]) => void;
  /** Called with the name of a task whose job has failed. */
  readonly onFailure: (task: string) => void;
  /** Called for each try to send a mail. */
  readonly onMail?: (result: MailResult) => void;
  /** Called every few seconds with the connections of the thread; null: it has ended. */
  readonly onPools?: (pools: JobPools | null) => void;
  readonly clock?: Pick<Clock, 'after' | 'wait'>;
}

/** A thread that does not stop is ended after this time. Longer than the jobs in flight may run. */
const STOP_LIMIT_MS = 12_500;

/** Runs the thread until `stop`. Rejects if the first one cannot start. */
export function startJobThread(options: JobThreadOptions): Promise<Part> {
  return supervise<Thread>({
    name: 'the thread of the jobs',
    logger: options.logger,
    start: () => startThread(options),
    stop: (thread) => thread.stop(),
    clock: options.clock,
  });
}

interface Thread {
  /** Resolves when it has stopped. */
  stop(): Promise<unknown>;
  /** Resolves when it has ended, with the error that ended it. */
  readonly ended: Promise<Error | null>;
}

/** Resolves when the thread runs jobs. Rejects if it ends before. */
async function startThread(options: JobThreadOptions): Promise<Thread> {
  const { entry, data, logger, onTasks, onFailure, onMail, onPools, clock = systemClock } = options;
  const worker = new Worker(entry, { workerData: data });
  const ended = new Promise<Error | null>((resolve) => {
    worker.on('error', resolve);
    worker.on('exit', () => {
      onPools?.(null);
      resolve(null);
    });
  });
  const running = new Promise<void>((resolve) => {
    worker.on('message', (message: JobThreadMessage) => {
      if (message.kind === 'running') {
        onTasks?.(message.tasks);
        resolve();
      } else if (message.kind === 'failed') onFailure(message.task);
      else if (message.kind === 'mail') onMail?.(message.result);
      else if (message.kind === 'pools') onPools?.(message.pools);
      else logger.write(message.line);
    });
  });
  const early = ended.then((error) => {
    throw error ?? new Error('the thread of the jobs ended while it started');
  });
  // It is awaited only until the thread runs.
  early.catch(() => undefined);
  await Promise.race([running, early]);
  return {
    stop: () => {
      worker.postMessage(STOP);
      const cancelLimit = clock.after(STOP_LIMIT_MS, () => void worker.terminate());
      return ended.then(cancelLimit);
    },
    ended,
  };
}
