import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { AppSecrets } from '../../core/encryption.ts';
import type { TeamMailer } from '../../core/mail.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { SEND_ALERT_MAIL } from './jobs.ts';
import { enqueueDigests, findDigest } from './service.ts';

const mailPayload = z.object({
  teamId: z.string(),
  memberId: z.string(),
  alerts: z.array(z.string()),
});

/** The job that looks for new alerts. */
export const FIND_ALERTS = 'find_alerts';

/** The feature's mails. Their payloads hold ids only. */
export function alertMailTasks({
  db,
  clock,
  mailer,
  publicUrl,
  secrets,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly mailer: TeamMailer;
  readonly publicUrl: string;
  readonly secrets: AppSecrets;
}): Record<string, Task> {
  return {
    [SEND_ALERT_MAIL]: async (payload) => {
      const settings = { publicUrl, appSecret: secrets.current };
      const of = mailPayload.parse(payload);
      const mail = await findDigest(db, clock, of, settings);
      if (mail) await mailer(of.teamId, mail);
    },
  };
}

/** The feature's other jobs. */
export function alertTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [FIND_ALERTS]: async (_payload, { abortSignal }) => enqueueDigests(db, clock, abortSignal),
  };
}

/** Every ten minutes, for the subscriptions that are due by then. */
export const ALERT_CRON: readonly ScheduledJob[] = [{ task: FIND_ALERTS, match: '*/10 * * * *' }];
