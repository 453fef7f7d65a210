import './runtime/node-version.ts';
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Logger as WorkerLogger,
  parseCronItems,
  run,
  type Runner,
  type RunnerOptions,
  type TaskList,
  type WorkerEvents,
  type WorkerPool,
} from 'graphile-worker';
import pg from 'pg';
import type { Logger } from 'pino';
import { loadConfig, type Config } from './runtime/config.ts';
import { systemClock } from './core/clock.ts';
import { openDatabase, type Database } from './db/client.ts';
import { keepJobLocks, type JobLocks } from './db/job-locks.ts';
import { expectedMigrations, isMigrated } from './db/migrate.ts';
import { holdSessionLock } from './db/session-lock.ts';
import { readBacklog } from './delivery/backlog-store.ts';
import { startDispatcher, type Dispatcher } from './delivery/dispatcher.ts';
import { createSender } from './delivery/sender.ts';
import { WORKER_LOCK_CLASS } from './delivery/claim-store.ts';
import { CRM_CRON, crmTasks } from './features/crm/sync/tasks.ts';
import { memberTasks } from './features/members/tasks.ts';
import { RETENTION_CRON, retentionTasks } from './features/retention/tasks.ts';
import { resendTasks } from './features/webhook-deliveries/tasks.ts';
import { WEBHOOK_CRON, webhookTasks } from './features/webhook-endpoints/tasks.ts';
import { createLogger, redact } from './runtime/log.ts';
import { createMailer } from './runtime/mail.ts';
import {
  createWorkerMetrics,
  serveWorkerMetrics,
  type WorkerMetrics,
} from './runtime/worker-metrics.ts';
import { runUntilSignal } from './runtime/process.ts';

/** Jobs in flight get this long at the end; it leaves time to give back the rest, before `npm start` stops Postgres and before the 15 s of operations.md. */
const DRAIN_MS = 11_000;
const RESTART_DELAY_MS = 1_000;
/** Mails and wake-ups: few and short. Deliveries have slots of their own (WORKER_CONCURRENCY). */
const JOB_CONCURRENCY = 10;

/**
 * Starts the worker process: the jobs that API processes enqueue, and the scheduled ones. Survives an outage of the database.
 * Rejects when the database cannot be reached now or is not of this version, for a worker does not migrate.
 */
export async function startWorker(config: Config): Promise<{ stop(): Promise<void> }> {
  const logger = createLogger(config.logLevel);
  const db = openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    onError: (error) => logger.warn({ err: error }, 'idle database connection broke'),
  });
  try {
    await requireMigrated(db);
    const metrics = createWorkerMetrics(() => readBacklog(db));
    const deliveries = await startDeliveries({ config, db, logger, metrics });
    const jobs = await keepRunning({
      db,
      logger,
      config,
      taskList: tasksOf({ config, db, logger, wake: () => deliveries.wake() }),
    });
    const metricsServer = await serveWorkerMetrics(config, metrics);
    logger.info('worker runs');
    return {
      stop: async () => {
        await Promise.all([jobs.stop(), deliveries.stop()]);
        metricsServer?.close();
        await db.close();
        logger.info('worker stopped');
        logger.flushNow();
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

interface Parts {
  readonly config: Config;
  readonly db: Database;
  readonly logger: Logger;
}

function tasksOf({ config, db, logger, wake }: Parts & { readonly wake: () => void }): TaskList {
  const shared = {
    db,
    clock: systemClock,
    mailer: createMailer(config, logger),
    publicUrl: config.publicUrl,
  };
  return {
    ...memberTasks(shared),
    ...crmTasks({
      ...shared,
      secrets: { current: config.appSecret, previous: config.appSecretPrevious ?? null },
      allowBaseUrl: config.nodeEnv !== 'production',
    }),
    ...webhookTasks({ ...shared, pauseAfterS: config.webhookPauseAfterS, wake }),
    ...resendTasks(shared),
    ...retentionTasks(shared),
  };
}

/** The delivery loop with what it holds: its lock, by which other workers see that it lives, and its connections to receivers. */
async function startDeliveries({
  config,
  db,
  logger,
  metrics,
}: Parts & { readonly metrics: WorkerMetrics }): Promise<Dispatcher> {
  const lock = await holdSessionLock(config.databaseUrl, WORKER_LOCK_CLASS);
  const sender = createSender({
    allowPrivateTargets: config.webhookAllowPrivateTargets,
    timeoutMs: config.webhookTimeoutMs,
  });
  const dispatcher = startDispatcher({
    db,
    lock,
    sender,
    logger,
    clock: systemClock,
    secrets: { current: config.appSecret, previous: config.appSecretPrevious ?? null },
    limits: {
      concurrency: config.workerConcurrency,
      maxPerEndpoint: config.webhookMaxInFlightPerEndpoint,
    },
    retryDelaysS: config.webhookRetryDelaysS,
    observe: metrics.observeDelivery,
  });
  metrics.watch(dispatcher);
  const stop = async (): Promise<void> => {
    await dispatcher.stop();
    await sender.close();
    await lock.close();
  };
  return { ...dispatcher, stop };
}

/** graphile-worker would make its schema in any database that it is pointed at. */
async function requireMigrated(db: Database): Promise<void> {
  if (await isMigrated(db.pool, await expectedMigrations())) return;
  throw new Error('The database is not of this version. Run "npm run migrate" first.');
}

interface RunOptions {
  readonly db: Database;
  readonly logger: Logger;
  readonly taskList: TaskList;
  readonly config: Config;
}

interface Run {
  readonly runner: Runner;
  readonly pool: WorkerPool;
  readonly locks: JobLocks;
  readonly connections: pg.Pool;
}

/**
 * graphile-worker looks for jobs again after an error, and listens again. But when it cannot write down how a job ended, it stops for good, without an
 * error to its caller, and keeps that job locked for four hours; so it does with jobs that it locked without learning of it (`db/job-locks.ts`).
 * Then the lock is freed, and a new run is started as soon as the database is back.
 */
async function keepRunning(options: RunOptions): Promise<{ stop(): Promise<void> }> {
  const { db, logger } = options;
  const stopping = new AbortController();
  let current = await startRun(options);
  const restart = async (): Promise<void> => {
    await delay(RESTART_DELAY_MS, undefined, { signal: stopping.signal });
    // Not before: what it was still writing down when it ended has had this second for it.
    if (!current.connections.ending) void current.connections.end();
    try {
      await current.locks.close();
      await db.pool.query('select graphile_worker.force_unlock_workers($1::text[])', [
        [current.pool.id],
      ]);
      current = await startRun(options);
      // `stop` has seen only the run before.
      if (stopping.signal.aborted) await stopRun(current, logger);
      logger.info('worker runs again');
    } catch (error) {
      logger.warn({ err: error }, 'the job runner cannot be started yet');
      await restart();
    }
  };
  const watch = async (): Promise<void> => {
    await current.runner.promise;
    if (stopping.signal.aborted) return;
    logger.error('the job runner ended by itself; starting another');
    await restart();
    await watch();
  };
  // What rejects here is the delay that `stop` aborts.
  const watching = watch().catch(() => undefined);
  return {
    stop: async () => {
      stopping.abort();
      await stopRun(current, logger);
      await watching;
    },
  };
}

async function startRun({ config, db, logger, taskList }: RunOptions): Promise<Run> {
  const events = new EventEmitter() as WorkerEvents;
  let pool = null as WorkerPool | null;
  events.once('pool:create', ({ workerPool }) => {
    pool = workerPool;
  });
  const inHand = new Set<string>();
  events.on('job:start', ({ job }) => inHand.add(job.id));
  events.on('job:complete', ({ job }) => inHand.delete(job.id));
  const connections = openConnections(config.databaseUrl, logger);
  const options: RunnerOptions = {
    pgPool: connections,
    taskList,
    parsedCronItems: parseCronItems([...WEBHOOK_CRON, ...RETENTION_CRON, ...CRM_CRON]),
    concurrency: JOB_CONCURRENCY,
    noHandleSignals: true,
    events,
    logger: workerLogger(logger),
    // In batches, which the end waits for and whose failure ends the run. Without, both are floating promises: lost at the end, fatal to the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  };
  const runner = await run(options).catch(async (error: unknown) => {
    await connections.end();
    throw error;
  });
  if (pool === null) throw new Error('graphile-worker made no pool');
  endUnlessHealthy(events, runner);
  const locks = await keepJobLocks({
    db,
    databaseUrl: config.databaseUrl,
    poolId: pool.id,
    isInHand: (jobId) => inHand.has(jobId),
    onReleased: (poolIds) =>
      logger.warn({ poolIds }, 'jobs of workers that are gone are given back'),
    onForgotten: (jobIds) => {
      logger.warn({ jobIds }, 'jobs whose locking was never answered');
      // It rejects when the run has ended already. The next one begins with giving back what this one had.
      runner.stop('it has jobs that it does not know of').catch(() => undefined);
    },
    onError: (error) => logger.warn({ err: error }, 'could not look for jobs that nobody works on'),
  });
  return { runner, pool, locks, connections };
}

/**
 * graphile-worker's own pool stops listening to errors before its connections are closed: a Postgres that is stopped at that moment, as `npm start` does,
 * would end this process with an unhandled one.
 */
function openConnections(databaseUrl: string, logger: Logger): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: JOB_CONCURRENCY,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  const report = (error: Error): void =>
    logger.debug({ err: error }, 'a connection of the job runner broke');
  pool.on('error', report);
  pool.on('connect', (client) => client.on('error', report));
  return pool;
}

/** A run whose first look at the database fails never gets over it: it remembers the failed lookup of its task names. */
function endUnlessHealthy(events: WorkerEvents, runner: Runner): void {
  const end = (): void => {
    // It rejects when the run has ended already.
    runner.stop('its first look for a job failed').catch(() => undefined);
  };
  const keep = (): void => {
    events.off('worker:getJob:error', end);
  };
  events.once('worker:getJob:error', end);
  events.once('worker:getJob:empty', keep);
  events.once('job:start', keep);
}

/** Lets jobs in flight finish. Those that take too long are given back to the queue, for another worker to try again in seconds. */
async function stopRun({ runner, pool, locks, connections }: Run, logger: Logger): Promise<void> {
  const late = setTimeout(() => {
    logger.warn('jobs in flight are given back');
    Promise.resolve(pool.forcefulShutdown('the worker was stopped meanwhile')).catch(
      () => undefined,
    );
  }, DRAIN_MS);
  // It rejects when the run has ended already.
  await runner.stop().catch(() => undefined);
  clearTimeout(late);
  if (!connections.ending) await connections.end();
  await locks.close();
}

function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    // graphile-worker reports every job as info; that is debug to us. A mail server's answer names the recipient.
    logger[level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug'](
      { source: 'graphile-worker' },
      redact(message),
    );
  });
}

if (import.meta.main) await runUntilSignal(() => startWorker(loadConfig(process.env)));
