/** The jobs that belong to one team, with every id that the twins share. */
import { fixedClock } from '../../src/core/clock.ts';
import type { Mail } from '../../src/core/mail.ts';
import { SEND_ALERT_MAIL } from '../../src/features/alerts/jobs.ts';
import { alertMailTasks } from '../../src/features/alerts/tasks.ts';
import { removeRows } from '../../src/features/crm/sync/removal.ts';
import { SEND_INVITATION } from '../../src/features/members/service.ts';
import { memberMailTasks } from '../../src/features/members/tasks.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { RESEND_DELIVERIES } from '../../src/features/webhook-deliveries/resend-service.ts';
import { deliveryTasks } from '../../src/features/webhook-deliveries/tasks.ts';
import { MAIL_PAUSE, SEND_PAUSE_MAIL } from '../../src/features/webhook-endpoints/jobs.ts';
import { webhookMailTasks, webhookTasks } from '../../src/features/webhook-endpoints/tasks.ts';
import { TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { teamIdOf, TWIN_IDS, TWINS_NOW } from '../support/twins.ts';
import type { Operation } from './twin-calls.ts';
import type { TwinCall } from './twin-worlds.ts';

const { member_id: members, endpoint_id: endpoints, connection_id: connections } = TWIN_IDS;

/** Of all webhook endpoints, in one team and in the other (test/support/twins.ts). */
const FAILING_SINCE = ['2026-11-16T00:00:00.000Z', '2026-11-17T00:00:00.000Z'];

type Payload = Readonly<Record<string, string | readonly string[]>>;

interface Job {
  readonly task: string;
  readonly payloads: readonly Payload[];
}

const JOBS: readonly Job[] = [
  { task: SEND_INVITATION, payloads: members.map((memberId) => ({ memberId })) },
  { task: MAIL_PAUSE, payloads: endpoints.map((endpointId) => ({ endpointId })) },
  {
    task: SEND_PAUSE_MAIL,
    payloads: members.flatMap((memberId) =>
      endpoints.map((endpointId) => ({ memberId, endpointId })),
    ),
  },
  {
    task: SEND_ALERT_MAIL,
    payloads: members.map((memberId) => ({
      memberId,
      alerts: [
        'errors',
        ...FAILING_SINCE.flatMap((at) => endpoints.map((id) => `webhook:${id}:${at}`)),
      ],
    })),
  },
  {
    task: RESEND_DELIVERIES,
    payloads: TWIN_IDS.resend_id.flatMap((resendId) =>
      endpoints.map((endpointId) => ({ resendId, endpointId })),
    ),
  },
  {
    task: 'remove rows of a connection',
    payloads: connections.map((connectionId) => ({ connectionId })),
  },
  { task: 'erase the team', payloads: [{}] },
  {
    task: 'synchronize a connection',
    payloads: connections.map((connectionId) => ({ connectionId })),
  },
];

/** Each job as the worker runs it. */
export const JOB_OPERATIONS: readonly Operation[] = JOBS.map(({ task, payloads }) => ({
  name: `the job: ${task}`,
  changes: true,
  calls: payloads.map((payload) => ({
    label: JSON.stringify(payload),
    call: runJob(task, payload),
  })),
}));

/** Runs the job for the team of `side`. Resolves with its outcome and the mails that it sent. */
function runJob(task: string, payload: Payload): TwinCall {
  return async (api, side) => {
    const mails: Mail[] = [];
    const job = { teamId: teamIdOf(side), ...payload };
    return { outcome: await work(api, mails, task, job), mails };
  };
}

async function work(
  { db, url }: TestApi,
  mails: Mail[],
  task: string,
  job: Payload & { readonly teamId: string },
): Promise<unknown> {
  const clock = fixedClock(TWINS_NOW);
  const mailer = async (_team: string, mail: Mail): Promise<void> => void mails.push(mail);
  const connection = { teamId: job.teamId, connectionId: String(job['connectionId']) };
  if (task === 'erase the team') {
    await db.pool.query(`update team set status = 'ended', erasing_since = $2 where id = $1`, [
      job.teamId,
      TWINS_NOW,
    ]);
    return eraseTeams(db, { batch: 5, runMs: 60_000 });
  }
  if (task === 'remove rows of a connection') return removeRows(db, connection, { runMs: 60_000 });
  if (task === 'synchronize a connection') return syncAtOnce({ db, clock }, connection);
  const shared = { db, clock, mailer, publicUrl: url };
  const tasks = {
    ...memberMailTasks({ ...shared, invitationUrl: url }),
    ...alertMailTasks({ ...shared, secrets: { current: TEST_APP_SECRET, previous: null } }),
    ...deliveryTasks(db, clock),
    ...webhookTasks({ ...shared, pauseAfterS: 1 }),
    ...webhookMailTasks(shared),
  };
  // None of these tasks uses the helpers of the job runner.
  return (tasks[task] as (payload: unknown) => unknown)(job);
}
