import './node-version.ts';
import { Logger as WorkerLogger, run, type TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import { loadConfig, type Config } from './config.ts';
import { openDatabase } from './db/client.ts';
import { memberTasks } from './features/members/tasks.ts';
import { createLogger } from './log.ts';
import { createMailer } from './mail.ts';
import { runUntilSignal } from './process.ts';

/** Starts the worker process: the jobs that API processes enqueue, and the scheduled ones. */
export async function startWorker(config: Config): Promise<{ stop(): Promise<void> }> {
  const logger = createLogger(config.logLevel);
  const db = openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    onError: (error) => logger.warn({ err: error }, 'idle database connection broke'),
  });
  const taskList: TaskList = memberTasks({ db, mailer: createMailer(config, logger), publicUrl: config.publicUrl });
  const runner = await run({
    connectionString: config.databaseUrl,
    taskList,
    concurrency: config.workerConcurrency,
    noHandleSignals: true,
    logger: workerLogger(logger),
  });
  logger.info('worker runs');
  return {
    stop: async () => {
      await runner.stop();
      await db.close();
      logger.info('worker stopped');
      logger.flushNow();
    },
  };
}

function workerLogger(logger: Logger): WorkerLogger {
  return new WorkerLogger(() => (level, message) => {
    // graphile-worker reports every job as info; that is debug to us.
    logger[level === 'warning' ? 'warn' : level === 'error' ? 'error' : 'debug']({ source: 'graphile-worker' }, message);
  });
}

if (import.meta.main) await runUntilSignal(() => startWorker(loadConfig(process.env)));
