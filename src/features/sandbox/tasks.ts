import type { CronItem, Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { TeamMailer } from '../../core/mail.ts';
import type { Db } from '../../db/client.ts';
import { SEND_REMOVAL_WARNING } from './jobs.ts';
import { findWarning, removeIdle } from './removal-service.ts';

const payloadSchema = z.object({ teamId: z.string(), memberId: z.string() });

/** The job that looks for sandboxes that nobody uses. */
export const REMOVE_IDLE_SANDBOXES = 'remove_idle_sandboxes';

/** The feature's jobs. Their payloads hold ids only. */
export function sandboxTasks({
  db,
  clock,
  mailer,
  publicUrl,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly mailer: TeamMailer;
  readonly publicUrl: string;
}): Record<string, Task> {
  return {
    [REMOVE_IDLE_SANDBOXES]: (_payload, { abortSignal: signal }) =>
      removeIdle(db, clock, { signal }),
    [SEND_REMOVAL_WARNING]: async (payload) => {
      const ids = payloadSchema.parse(payload);
      const mail = await findWarning(db, ids, publicUrl);
      if (mail) await mailer(ids.teamId, mail);
    },
  };
}

/** Every hour. A sandbox is due once in 25 days; a run looks at thousands. */
export const SANDBOX_CRON: readonly CronItem[] = [
  { task: REMOVE_IDLE_SANDBOXES, match: '23 * * * *', options: { backfillPeriod: 0 } },
];
