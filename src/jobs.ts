/** The thread of a worker that runs the jobs; `worker.ts` starts it. */
import './runtime/node-version.ts';
import { parentPort, workerData } from 'node:worker_threads';
import { parseCronItems, type CronItem, type TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import { systemClock } from './core/clock.ts';
import { openDatabase } from './db/connections/database.ts';
import type { Caller, Db } from './db/client.ts';
import { ALERT_CRON, alertTasks } from './features/alerts/tasks.ts';
import { CRM_CRON, crmTasks } from './features/crm/sync/tasks.ts';
import { MEMBER_CRON, memberTasks } from './features/members/tasks.ts';
import { RETENTION_CRON, retentionTasks } from './features/retention/tasks.ts';
import { mailerOf } from './features/sandbox/mail-service.ts';
import { SANDBOX_CRON, sandboxTasks } from './features/sandbox/tasks.ts';
import { TEAM_CRON, teamTasks } from './features/team-lifecycle/tasks.ts';
import { deliveryTasks } from './features/webhook-deliveries/tasks.ts';
import { WEBHOOK_CRON, webhookTasks } from './features/webhook-endpoints/tasks.ts';
import { appSecretsOf, type Config } from './runtime/config.ts';
import { keepRunning } from './runtime/job-runner.ts';
import { STOP, type JobThreadMessage } from './runtime/job-thread.ts';
import { createThreadLogger } from './runtime/log.ts';
import { createMailer } from './runtime/mail.ts';

/** Few jobs run at once, and the job runner has connections of its own. */
const POOL_MAX = 8;

/** The thread has no other work, so jobs need no share. They may take long. */
const JOBS: Caller = { share: null, background: true };

/** The scheduled jobs. */
const CRON: readonly CronItem[] = [
  ...MEMBER_CRON,
  ...WEBHOOK_CRON,
  ...RETENTION_CRON,
  ...CRM_CRON,
  ...TEAM_CRON,
  ...ALERT_CRON,
  ...SANDBOX_CRON,
];

if (parentPort) await runJobs(workerData as Config);

/** Runs jobs until the process says that it stops. Rejects if they cannot start. */
async function runJobs(config: Config): Promise<void> {
  const say = (message: JobThreadMessage): void => parentPort?.postMessage(message);
  const logger = createThreadLogger(config.logLevel, (line) => say({ kind: 'log', line }));
  const db = openDatabase({
    url: config.databaseUrl,
    poolMax: Math.min(config.databasePoolMax, POOL_MAX),
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  });
  const jobs = await keepRunning({
    db,
    databaseUrl: config.databaseUrl,
    logger,
    taskList: tasksOf({ config, db: db.forCaller(JOBS), logger }),
    onFailure: (task) => say({ kind: 'failed', task }),
    cronItems: parseCronItems([...CRON]),
  });
  const stop = async (): Promise<void> => {
    await jobs.stop();
    await db.close();
    parentPort?.close();
  };
  parentPort?.on('message', (message: unknown) => {
    if (message === STOP) void stop();
  });
  say({ kind: 'running' });
}

function tasksOf({
  config,
  db,
  logger,
}: {
  readonly config: Config;
  readonly db: Db;
  readonly logger: Logger;
}): TaskList {
  const secrets = appSecretsOf(config);
  const shared = {
    db,
    clock: systemClock,
    mailer: mailerOf(db, systemClock, createMailer(config, logger)),
    publicUrl: config.publicUrl,
  };
  return {
    ...memberTasks(shared),
    ...alertTasks({ ...shared, secrets }),
    ...crmTasks({
      ...shared,
      secrets,
      allowBaseUrl: config.webhookAllowPrivateTargets,
    }),
    ...webhookTasks({ ...shared, pauseAfterS: config.webhookPauseAfterS }),
    ...deliveryTasks(db, systemClock),
    ...retentionTasks(db, systemClock),
    ...teamTasks(db),
    ...sandboxTasks(shared),
  };
}
