import type { Task } from 'graphile-worker';
import { z } from 'zod';
import { ROLES } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import type { TeamMailer } from '../../core/mail.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { MAIL_PAUSE, SEND_PAUSE_MAIL } from './jobs.ts';
import { findPauseMail } from './pause-mail.ts';
import { mailAdmins, pauseSilentEndpoints } from './pause.ts';

const pauseMailPayload = z.object({
  teamId: z.string(),
  memberId: z.string(),
  endpointId: z.string(),
});

const adminsPayload = z.object({
  teamId: z.string(),
  endpointId: z.string(),
  after: z
    .object({ role: z.enum(ROLES), created_at: z.string(), id: z.string() })
    .nullable()
    .default(null),
});

/** The job that pauses endpoints to which deliveries keep failing. */
export const PAUSE_ENDPOINTS = 'pause_endpoints';

/** The jobs of webhooks that send no mail: the pause, and who is mailed about it. */
export function webhookTasks({
  db,
  clock,
  pauseAfterS,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly pauseAfterS: number;
}): Record<string, Task> {
  return {
    [PAUSE_ENDPOINTS]: async () => {
      await pauseSilentEndpoints(db, clock, pauseAfterS);
    },
    [MAIL_PAUSE]: (payload) => mailAdmins(db, adminsPayload.parse(payload)),
  };
}

/** The mails about pauses. */
export function webhookMailTasks({
  db,
  mailer,
  publicUrl,
}: {
  readonly db: Db;
  readonly mailer: TeamMailer;
  readonly publicUrl: string;
}): Record<string, Task> {
  return {
    [SEND_PAUSE_MAIL]: async (payload) => {
      const of = pauseMailPayload.parse(payload);
      const mail = await findPauseMail(db, of, publicUrl);
      if (mail) await mailer(of.teamId, mail);
    },
  };
}

/** Every minute: nobody notices a pause that is up to a minute late. */
export const WEBHOOK_CRON: readonly ScheduledJob[] = [
  { task: PAUSE_ENDPOINTS, match: '* * * * *' },
];
