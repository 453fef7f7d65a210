/**
 * Runs graphile-worker and starts it again when it ends by itself.
 *
 * graphile-worker survives most errors: it polls and listens again. But if it cannot write down
 * how a job ended, it takes no more jobs, without telling its caller, and the job stays locked for
 * four hours. So does a job that it has locked without learning of it (`db/jobs/job-locks.ts`). In
 * both cases the locks are released here, and a new run starts as soon as the database is back.
 */
import { EventEmitter, once } from 'node:events';
import {
  Logger as WorkerLogger,
  run,
  type Job,
  type Runner,
  type RunnerOptions,
  type Task,
  type TaskList,
  type WorkerEvents,
  type WorkerPool,
} from 'graphile-worker';
import pg from 'pg';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '../core/clock.ts';
import { isSandbox } from '../core/sandbox.ts';
import type { ScheduledJob } from '../core/scheduled-job.ts';
import type { Signals } from '../core/signals.ts';
import type { Database } from '../db/connections/database.ts';
import { guardAll, startWatchdog, type Watchdog } from '../db/connections/watchdog.ts';
import { bringCronBack } from '../db/jobs/cron-times.ts';
import { keepJobLocks, releaseJobs, type Held, type JobLocks } from '../db/jobs/job-locks.ts';
import { poolToPrimary } from '../db/wire/primary-client.ts';
import { cronItemsOf } from './cron-items.ts';
import { redact } from './log.ts';
import type { Part } from './process.ts';
import { isOfRecipientAgain } from './refused-mails.ts';
import { supervise } from './supervise.ts';

export interface JobRunnerOptions {
  readonly db: Database;
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** How many jobs run at once. */
  readonly slots: number;
  /** The slots share so many connections, of which one listens. */
  readonly poolMax: number;
  readonly taskList: TaskList;
  readonly schedule: readonly ScheduledJob[];
  /** Called with the task of a live team's job that has failed. It is tried again later. */
  readonly onFailure: (task: string) => void;
  /** Called before jobs in flight are given to another run, so that they end what they do. */
  readonly onRelease?: () => void;
  readonly clock?: Pick<Clock, 'wait'>;
  readonly signal?: Signals<JobRunnerSignal>;
}

/** `ending`: the current run ends; it may still take a job. `runs`: a run has begun. */
export type JobRunnerSignal = 'ending' | 'runs';

/**
 * How long jobs in flight may still run at the end of a run. It leaves time to release them before
 * `npm start` stops Postgres, and within the 15 s of a stop.
 */
const DRAIN_MS = 11_000;
/** How long the release of the jobs in flight may take. */
const RELEASE_MS = 1_000;
/** After this silence a connection is broken: graphile-worker would wait for ever. */
const ANSWER_TIMEOUT_MS = 10_000;

/** A running job runner. */
export interface JobRunner extends Part {
  /** The connections of its current run. */
  readonly pool: () => pg.Pool;
}

/** Runs jobs until `stop`. Rejects if the first run cannot start. */
export async function keepRunning(options: JobRunnerOptions): Promise<JobRunner> {
  const { db, logger, schedule } = options;
  const watchdog = startWatchdog(ANSWER_TIMEOUT_MS);
  const runs = await supervise<Run>({
    name: 'the job runner',
    logger,
    start: async (ended) => {
      if (ended) {
        // It may still be writing to the database. It has had a second to finish.
        if (!ended.connections.ending) void ended.connections.end();
        await ended.locks.close();
        await releaseJobs(db, [ended.pool.id]);
      }
      if (schedule.length > 0) await endWaitOfCron(options);
      const run = await startRun(options, watchdog);
      options.signal?.('runs');
      return run;
    },
    stop: stopRun,
    clock: options.clock,
  });
  return {
    pool: () => runs.current().connections,
    stop: async () => {
      await runs.stop();
      watchdog.stop();
    },
  };
}

/** Before the schedule of a run begins, which waits for the times that it finds. */
async function endWaitOfCron({ db, logger }: JobRunnerOptions): Promise<void> {
  const tasks = await bringCronBack(db);
  if (tasks.length > 0)
    logger.warn({ tasks }, 'scheduled jobs ran in the future, by a clock that was ahead');
}

/** One run of graphile-worker, with its pool of workers, its locks and its connections. */
interface Run {
  readonly runner: Runner;
  readonly pool: WorkerPool;
  readonly locks: JobLocks;
  readonly connections: pg.Pool;
  /** Resolves when it runs no more jobs, whoever has ended it. */
  readonly ended: Promise<void>;
}

async function startRun(options: JobRunnerOptions, watchdog: Watchdog): Promise<Run> {
  const { logger, slots, taskList, schedule, onFailure } = options;
  const events = new EventEmitter() as WorkerEvents;
  let pool = null as WorkerPool | null;
  events.once('pool:create', ({ workerPool }) => {
    pool = workerPool;
  });
  const inHand = new Set<Held>();
  events.on('job:start', ({ job }) => heldBy(job).forEach((held) => inHand.add(held)));
  events.on('job:complete', ({ job }) => heldBy(job).forEach((held) => inHand.delete(held)));
  events.on('job:error', ({ job, error }) => {
    if (!isOfSandbox(job.payload) && !isOfRecipientAgain(error, job))
      onFailure(job.task_identifier);
  });
  const connections = openConnections(options, watchdog);
  const runnerOptions: RunnerOptions = {
    pgPool: connections,
    taskList: endWithRun(taskList, events),
    parsedCronItems: cronItemsOf(schedule),
    concurrency: slots,
    noHandleSignals: true,
    events,
    logger: workerLogger(logger),
    // Writes the results of jobs in batches. The end of a run waits for a batch, and a batch that
    // fails ends the run. Without batches the writes are floating promises: the end of a run would
    // lose them, and a failure would end the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };
  const runner = await run(runnerOptions).catch(async (error: unknown) => {
    await connections.end();
    throw error;
  });
  if (pool === null) throw new Error('graphile-worker made no pool');
  const ended = drainAtEnd(events, { runner, pool }, options);
  endUnlessHealthy(events, runner);
  const isInHand = (held: Held): boolean => inHand.has(held);
  const locks = await keepLocks(options, { runner, pool, isInHand });
  return { runner, pool, locks, connections, ended };
}

/** What the database has locked for a job that runs. A queue has one at a time. */
function heldBy({ id, job_queue_id: queue }: Pick<Job, 'id' | 'job_queue_id'>): Held[] {
  return queue === null ? [`job ${id}`] : [`job ${id}`, `queue ${queue}`];
}

function keepLocks(
  { db, databaseUrl, logger }: JobRunnerOptions,
  {
    runner,
    pool,
    isInHand,
  }: Pick<Run, 'runner' | 'pool'> & { readonly isInHand: (held: Held) => boolean },
): Promise<JobLocks> {
  return keepJobLocks({
    db,
    databaseUrl,
    poolId: pool.id,
    isInHand,
    onReleased: (poolIds) => logger.warn({ poolIds }, 'released the jobs of workers that are gone'),
    onForgotten: (held) => {
      logger.warn({ held }, 'the database has locked jobs that this worker does not run');
      // The next run first releases these jobs. They must not wait for a long job in flight.
      endRun(runner, 'it has locked jobs that it does not run');
    },
    onError: (error) => logger.warn({ err: error }, 'could not check for abandoned jobs'),
  });
}

/**
 * Opens a pool for graphile-worker. Its own pool stops listening for errors before its connections
 * are closed. If Postgres is stopped at that moment, as `npm start` does, an unhandled error would
 * end this process.
 *
 * An error of `connect` has no code. After some codes, such as that of a Postgres that is starting,
 * graphile-worker does not poll for up to two minutes. Without one it polls as usual.
 */
function openConnections(
  { databaseUrl, logger, poolMax }: JobRunnerOptions,
  watchdog: Watchdog,
): pg.Pool {
  const pool = new pg.Pool({
    ...poolToPrimary(databaseUrl),
    max: poolMax,
    connectionTimeoutMillis: 10_000,
  });
  const report = (error: Error): void =>
    logger.debug({ err: error }, 'a connection of the job runner broke');
  pool.on('error', report);
  pool.on('connect', (client) => {
    client.on('error', report);
    guardAll(watchdog, client);
  });
  const connect = pool.connect.bind(pool) as (callback?: unknown) => Promise<pg.PoolClient>;
  const connectWithoutCode = (callback?: unknown): Promise<pg.PoolClient> =>
    callback
      ? connect(callback)
      : connect().catch((cause: unknown) => {
          throw new Error(`cannot connect: ${String(cause)}`, { cause });
        });
  pool.connect = connectWithoutCode as typeof pool.connect;
  return pool;
}

/**
 * Ends a run if its first poll for a job fails. Such a run would never recover: it remembers the
 * failed lookup of its task names.
 */
function endUnlessHealthy(events: WorkerEvents, runner: Runner): void {
  const end = (): void => endRun(runner, 'its first poll for a job failed');
  const keep = (): void => {
    events.off('worker:getJob:error', end);
  };
  events.once('worker:getJob:error', end);
  events.once('worker:getJob:empty', keep);
  events.once('job:start', keep);
}

async function stopRun({ runner, ended, connections, locks }: Run): Promise<void> {
  endRun(runner, 'the worker stops');
  await ended;
  if (!connections.ending) await connections.end();
  await locks.close();
}

function endRun(runner: Runner, reason: string): void {
  // `stop` rejects if the run has ended already.
  runner.stop(reason).catch(() => undefined);
}

/**
 * Resolves when the run has ended. At the beginning of its end, jobs in flight get `DRAIN_MS`. Then
 * they are released, so that another run takes them within seconds. Never rejects.
 */
async function drainAtEnd(
  events: WorkerEvents,
  { runner, pool }: Pick<Run, 'runner' | 'pool'>,
  { logger, onRelease, clock = systemClock, signal }: JobRunnerOptions,
): Promise<void> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  pool.promise.then(end, end);
  await once(events, 'pool:gracefulShutdown');
  signal?.('ending');
  await clock.wait(DRAIN_MS, ended.signal);
  if (ended.signal.aborted) return;
  logger.warn('released the jobs in flight');
  onRelease?.();
  // The schedule of the run ends, too.
  endRun(runner, 'its jobs in flight do not end');
  Promise.resolve(pool.forcefulShutdown('its run ended')).catch(() => undefined);
  // graphile-worker waits for ever once it has failed twice to write down how jobs ended.
  await clock.wait(RELEASE_MS, ended.signal);
}

/** What it warns of at each start: that slots share connections (`worker-connections.ts`). */
const FEW_CONNECTIONS = 'smaller than concurrency';

/**
 * Makes graphile-worker log to ours. It reports every job as info, which is debug to us. Its
 * messages are redacted, because the answer of a mail server names the recipient.
 */
function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    if (message.includes(FEW_CONNECTIONS)) return;
    logger[level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug'](
      { source: 'graphile-worker' },
      redact(message),
    );
  });
}

/**
 * A task that ends after its job was released never settles. To write down its end would be an
 * unhandled rejection of graphile-worker, which would end this process.
 */
function endWithRun(taskList: TaskList, events: WorkerEvents): TaskList {
  let isReleased = false;
  events.once('pool:forcefulShutdown', () => {
    isReleased = true;
  });
  const endOf = (task: Task): Task => {
    return async (payload, helpers) => {
      try {
        return await task(payload, helpers);
      } finally {
        if (isReleased) await new Promise(() => undefined);
      }
    };
  };
  return Object.fromEntries(
    Object.entries(taskList).map(([name, task]) => [name, endOf(task as Task)]),
  );
}

/** Whether the job is one of a sandbox, which must alarm nobody. */
function isOfSandbox(payload: unknown): boolean {
  const { teamId } = (payload ?? {}) as { readonly teamId?: unknown };
  return typeof teamId === 'string' && isSandbox(teamId);
}
