import './runtime/node-version.ts';
import { systemClock } from './core/clock.ts';
import type { Tracing } from './core/trace.ts';
import { isDistributed } from './db/citus/shards.ts';
import { requireAppSecret } from './db/operator/app-secret.ts';
import type { Caller } from './db/client.ts';
import type { Database } from './db/connections/database.ts';
import { startJobIntake } from './db/jobs/job-intake.ts';
import { followingClock } from './db/database-clock.ts';
import { startListener } from './db/connections/listener.ts';
import { expectedMigrations } from './db/operator/migrations.ts';
import { requireDirectAt } from './db/connections/poolers.ts';
import { ONLY_EVENTS, WAKE_UP_CHANNELS } from './db/connections/wake-ups.ts';
import { readBacklog } from './delivery/backlog-store.ts';
import { createSender } from './delivery/sender.ts';
import { startShardLoops } from './delivery/citus/shard-loops.ts';
import { startLoop, type Loops } from './delivery/dispatcher.ts';
import { appSecretsOf, loadConfig, type Config } from './runtime/config.ts';
import { openDatabaseOf } from './runtime/database.ts';
import { startJobThread } from './runtime/job-thread.ts';
import { createLogger, type ProcessLogger } from './runtime/log.ts';
import { serveMetrics } from './runtime/metrics.ts';
import { fail, runUntilSignal, type Part } from './runtime/process.ts';
import { startReadiness } from './runtime/readiness.ts';
import { startTracing } from './runtime/tracing.ts';
import { createWorkerMetrics, type WorkerMetrics } from './runtime/worker-metrics.ts';

/**
 * Starts the worker process. It runs deliveries. A thread of it (`jobs.ts`) runs the jobs that API
 * processes enqueue, and scheduled jobs. A running worker survives an outage of the database.
 * Rejects if the database cannot be reached, is behind a pooler, or is not migrated to this
 * version: a worker does not migrate.
 */
export async function startWorker(config: Config): Promise<Part> {
  const logger = createLogger(config.logLevel);
  const clock = followingClock(systemClock);
  let loops: Pick<Loops, 'databases' | 'atLimit'> = { databases: () => [], atLimit: () => [] };
  const metrics = createWorkerMetrics(
    () => db,
    () => readBacklog(db.forCaller(METRICS), loops.databases(), loops.atLimit()),
    clock,
  );
  const { observeWait } = metrics;
  const db = openDatabaseOf(config, logger, { observeWait });
  try {
    const migrations = await expectedMigrations();
    const secrets = appSecretsOf(config);
    await requireDirectAt(config.databaseUrl, 'The worker');
    // Looks for the migrations, too: graphile-worker would create its schema in any database.
    await requireAppSecret(db, secrets);
    const tracing = await startTracing(config, 'worker', logger);
    const deliveries = await startDeliveries({ config, db, logger, metrics, tracing });
    loops = deliveries;
    const jobs = await startJobThread({
      entry: new URL('./jobs.ts', import.meta.url),
      data: config,
      logger,
      onTasks: metrics.knowTasks,
      onFailure: metrics.countJobFailure,
      onMail: metrics.countMail,
      onPools: metrics.showPools,
    });
    const intake = startJobIntake(db, {
      onError: (error) =>
        logger.warn({ err: error }, 'new jobs could not be handed to the job runner yet'),
      onRefused: (job, error) => logger.error({ err: error, job }, 'the job runner refuses a job'),
    });
    const listener = startListener({
      databaseUrl: config.databaseUrl,
      channels: {
        [WAKE_UP_CHANNELS.deliveries]: (payload) =>
          deliveries.wake(payload === ONLY_EVENTS ? 'events' : 'all'),
        [WAKE_UP_CHANNELS.jobs]: () => intake.wake(),
      },
      onError: (error) => logger.warn({ err: error }, 'the worker hears of new work by polling'),
    });
    const metricsServer = await serveMetrics(config, metrics.registry);
    const readiness = await startReadiness({
      db,
      migrations,
      secrets,
      logger,
      onFault: fail,
      following: clock,
    });
    logger.info('worker runs');
    return {
      stop: async () => {
        readiness.stop();
        // At once: none waits until another one has had an answer of the database.
        await Promise.all([listener.close(), intake.stop(), jobs.stop(), deliveries.stop()]);
        metricsServer?.close();
        await Promise.all([db.close(), tracing?.stop()]);
        logger.info('worker stopped');
        logger.flushNow();
      },
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Attempts wait for receivers most of their time. With the default, a worker holds 4,000. */
const HELD_PER_CONCURRENCY = 20;

/** Has a share of its own, so that deliveries do not wait for it. */
const METRICS: Caller = { share: 'metrics', background: true };

interface WorkerOptions {
  readonly config: Config;
  readonly db: Database;
  readonly logger: ProcessLogger;
}

interface DeliveryOptions extends WorkerOptions {
  readonly metrics: WorkerMetrics;
  readonly tracing: Tracing | null;
}

/** Starts the deliveries, with the connections to receivers. */
async function startDeliveries(options: DeliveryOptions): Promise<Loops> {
  const { config, db, logger, metrics, tracing } = options;
  const { observeWait } = metrics;
  const sender = createSender({
    allowPrivateTargets: config.webhookAllowPrivateTargets,
    timeoutMs: config.webhookTimeoutMs,
  });
  const start = (await isDistributed(db)) ? startShardLoops : startLoop;
  const loops = await start({
    databaseUrl: config.databaseUrl,
    db,
    openNode: (databaseUrl) => openDatabaseOf({ ...config, databaseUrl }, logger, { observeWait }),
    sender,
    logger,
    clock: systemClock,
    secrets: appSecretsOf(config),
    limits: {
      held: HELD_PER_CONCURRENCY * config.workerConcurrency,
      maxPerEndpoint: config.webhookMaxInFlightPerEndpoint,
    },
    retryDelaysS: config.webhookRetryDelaysS,
    observe: metrics.observeDelivery,
    onFault: metrics.countFault,
    tracing,
  });
  metrics.watch(loops);
  const stop = async (): Promise<void> => {
    await loops.stop();
    await sender.close();
  };
  return { ...loops, stop };
}

if (import.meta.main)
  await runUntilSignal(() => startWorker(loadConfig(process.env, { mail: true })));
