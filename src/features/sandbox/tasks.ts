import type { Task } from 'graphile-worker';
import { z } from 'zod';
import { ROLES } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import type { TeamMailer } from '../../core/mail.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { END_SUSPENSION, SCORE_TRAINING, SEND_REMOVAL_WARNING, WARN_ADMINS } from './jobs.ts';
import { scoreTraining } from './play-service.ts';
import { findWarning, removeIdle, warnAdmins } from './removal-service.ts';
import { endSuspensionOnTime } from './suspension-service.ts';

const scorePayload = z.object({
  teamId: z.string(),
  trainingId: z.string(),
  score: z.int(),
  savedAt: z.string(),
});
const suspensionPayload = z.object({ teamId: z.string(), until: z.string() });
const adminsPayload = z.object({
  teamId: z.string(),
  after: z.object({ role: z.enum(ROLES), created_at: z.string(), id: z.string() }),
});
const warningPayload = z.object({ teamId: z.string(), memberId: z.string() });

/** The job that looks for sandboxes that nobody uses. */
export const REMOVE_IDLE_SANDBOXES = 'remove_idle_sandboxes';

/** The feature's jobs: what follows after a while on what was played, and the end of a sandbox. */
export function sandboxTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [SCORE_TRAINING]: (payload) => scoreTraining(db, clock, scorePayload.parse(payload)),
    [END_SUSPENSION]: (payload) => endSuspensionOnTime(db, clock, suspensionPayload.parse(payload)),
    [WARN_ADMINS]: (payload) => warnAdmins(db, adminsPayload.parse(payload)),
    [REMOVE_IDLE_SANDBOXES]: (_payload, { abortSignal: signal }) =>
      removeIdle(db, clock, { signal }),
  };
}

/** The feature's mails. */
export function sandboxMailTasks({
  db,
  mailer,
  publicUrl,
}: {
  readonly db: Db;
  readonly mailer: TeamMailer;
  readonly publicUrl: string;
}): Record<string, Task> {
  return {
    [SEND_REMOVAL_WARNING]: async (payload) => {
      const ids = warningPayload.parse(payload);
      const mail = await findWarning(db, ids, publicUrl);
      if (mail) await mailer(ids.teamId, mail);
    },
  };
}

/** Every hour. A sandbox is due once in 25 days; a run looks at thousands. */
export const SANDBOX_CRON: readonly ScheduledJob[] = [
  { task: REMOVE_IDLE_SANDBOXES, match: '23 * * * *' },
];
