/** The thread of a worker that runs the jobs; `worker.ts` starts it. */
import './runtime/node-version.ts';
import { parentPort, workerData } from 'node:worker_threads';
import type { TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import { systemClock } from './core/clock.ts';
import type { Mailer } from './core/mail.ts';
import type { ScheduledJob } from './core/scheduled-job.ts';
import type { Caller, Db } from './db/client.ts';
import type { Database } from './db/connections/database.ts';
import { ALERT_CRON, alertMailTasks, alertTasks } from './features/alerts/tasks.ts';
import { CRM_CRON, crmTasks } from './features/crm/sync/tasks.ts';
import { MEMBER_CRON, memberMailTasks, memberTasks } from './features/members/tasks.ts';
import { RETENTION_CRON, retentionTasks } from './features/retention/tasks.ts';
import { mailerOf } from './features/sandbox/mail-service.ts';
import { sandboxTasks } from './features/sandbox/tasks.ts';
import { TEAM_CRON, teamTasks } from './features/team-lifecycle/tasks.ts';
import { deliveryTasks } from './features/webhook-deliveries/tasks.ts';
import {
  WEBHOOK_CRON,
  webhookMailTasks,
  webhookTasks,
} from './features/webhook-endpoints/tasks.ts';
import { appSecretsOf, type Config } from './runtime/config.ts';
import { openDatabaseOf } from './runtime/database.ts';
import { keepRunning } from './runtime/job-runner.ts';
import { STOP, type JobThreadMessage } from './runtime/job-thread.ts';
import { createThreadLogger } from './runtime/log.ts';
import { createMailer, observeMails, openMailSessions } from './runtime/mail.ts';
import { logWarnings } from './runtime/output.ts';
import { endRefused } from './runtime/refused-mails.ts';
import {
  JOB_SLOTS,
  JOBS_POOL_MAX,
  MAIL_SLOTS,
  RUNNER_POOL_MAX,
} from './runtime/worker-connections.ts';

/** They may take long. Mails have a share of their own, so that none waits for other jobs. */
const JOBS: Caller = { share: 'jobs', background: true };
const MAILS: Caller = { share: 'mails', background: true };

/** A scrape sees connections that are as old as this. */
const POOLS_EVERY_MS = 5_000;

const SCHEDULE: readonly ScheduledJob[] = [
  ...MEMBER_CRON,
  ...WEBHOOK_CRON,
  ...RETENTION_CRON,
  ...CRM_CRON,
  ...TEAM_CRON,
  ...ALERT_CRON,
];

if (parentPort) await runJobs(workerData as Config);

/** Runs jobs until the process says that it stops. Rejects if they cannot start. */
async function runJobs(config: Config): Promise<void> {
  const say = (message: JobThreadMessage): void => parentPort?.postMessage(message);
  const logger = createThreadLogger(config.logLevel, (line) => say({ kind: 'log', line }));
  logWarnings(logger);
  const databasePoolMax = Math.min(config.databasePoolMax, JOBS_POOL_MAX);
  const db = openDatabaseOf({ ...config, databasePoolMax }, logger);
  const optionsOf = (caller: Caller): TaskOptions => ({
    config,
    db: db.forCaller(caller),
    logger,
  });
  const sessions = openMailSessions();
  const send = observeMails(createMailer(config, logger, { signal: sessions.signal }), (result) =>
    say({ kind: 'mail', result }),
  );
  const shared = {
    db,
    databaseUrl: config.databaseUrl,
    logger,
    poolMax: RUNNER_POOL_MAX,
    onFailure: (task: string) => say({ kind: 'failed', task }),
  };
  const taskList = tasksOf(optionsOf(JOBS));
  const mailTaskList = mailTasksOf(optionsOf(MAILS), send);
  const jobs = await keepRunning({
    ...shared,
    slots: JOB_SLOTS,
    taskList,
    schedule: SCHEDULE,
  });
  const mails = await keepRunning({
    ...shared,
    slots: MAIL_SLOTS,
    taskList: mailTaskList,
    schedule: [],
    onRelease: sessions.handOver,
  });
  const endTelling = systemClock.every(POOLS_EVERY_MS, () => {
    const pools = {
      jobs: countsOf(db.pool),
      runner: countsOf(jobs.pool()),
      mail_runner: countsOf(mails.pool()),
    };
    say({ kind: 'pools', pools });
  });
  const stop = async (): Promise<void> => {
    endTelling();
    await Promise.all([jobs.stop(), mails.stop()]);
    await db.close();
    parentPort?.close();
  };
  parentPort?.on('message', (message: unknown) => {
    if (message === STOP) void stop();
  });
  say({ kind: 'running', tasks: Object.keys({ ...taskList, ...mailTaskList }) });
}

function countsOf({ totalCount, idleCount, waitingCount }: Database['pool']) {
  return { total: totalCount, idle: idleCount, waiting: waitingCount };
}

interface TaskOptions {
  readonly config: Config;
  readonly db: Db;
  readonly logger: Logger;
}

/** The tasks that send mails. No other task has a mailer. */
function mailTasksOf({ config, db, logger }: TaskOptions, send: Mailer): TaskList {
  const shared = {
    db,
    mailer: mailerOf(db, systemClock, send),
    publicUrl: config.publicUrl,
  };
  const tasks = {
    ...memberMailTasks({ ...shared, invitationUrl: config.invitationUrl }),
    ...alertMailTasks({ ...shared, clock: systemClock, secrets: appSecretsOf(config) }),
    ...webhookMailTasks(shared),
  };
  return endRefused(tasks, logger);
}

function tasksOf({ config, db, logger }: TaskOptions): TaskList {
  return {
    ...memberTasks(db, systemClock),
    ...alertTasks(db, systemClock),
    ...crmTasks({
      db,
      clock: systemClock,
      secrets: appSecretsOf(config),
      allowBaseUrl: config.webhookAllowPrivateTargets,
      onFailure: ({ teamId, connectionId, requestId, nextAt, reason, ...failure }) =>
        logger.warn(
          {
            ...failure,
            team: teamId,
            connection: connectionId,
            code: reason,
            request_id: requestId,
            next_at: nextAt.toISOString(),
          },
          'a synchronization failed',
        ),
    }),
    ...webhookTasks({ db, clock: systemClock, pauseAfterS: config.webhookPauseAfterS }),
    ...deliveryTasks(db, systemClock),
    ...retentionTasks(db, systemClock, { requestLogDays: config.requestLogDays }),
    ...teamTasks(db, systemClock),
    ...sandboxTasks(db, systemClock),
  };
}
