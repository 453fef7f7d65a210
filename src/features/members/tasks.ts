import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { TeamMailer } from '../../core/mail.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { endExpiredInvitations, findInvitation, SEND_INVITATION } from './service.ts';
import { toInvitationMail } from './view.ts';

const payloadSchema = z.object({ teamId: z.string(), memberId: z.string() });

/** The job that ends invitations that nobody has accepted in time. */
export const END_INVITATIONS = 'end_invitations';

/** The feature's mails. Their payloads hold ids only, never an email. */
export function memberMailTasks(dependencies: {
  readonly db: Db;
  readonly mailer: TeamMailer;
  readonly invitationUrl: string | undefined;
}): Record<string, Task> {
  const { db, mailer, invitationUrl } = dependencies;
  return {
    [SEND_INVITATION]: async (payload) => {
      const { teamId, memberId } = payloadSchema.parse(payload);
      const invitation = await findInvitation(db, teamId, memberId);
      if (invitation) await mailer(teamId, toInvitationMail(invitation, invitationUrl));
    },
  };
}

/** The feature's other jobs. */
export function memberTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [END_INVITATIONS]: async (_payload, { abortSignal }) => {
      await endExpiredInvitations(db, clock, abortSignal);
    },
  };
}

/** Every hour: nobody notices an invitation that ends an hour late. */
export const MEMBER_CRON: readonly ScheduledJob[] = [
  { task: END_INVITATIONS, match: '37 * * * *' },
];
