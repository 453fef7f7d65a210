import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Mailer } from '../../core/mail.ts';
import type { Db } from '../../db/client.ts';
import { findInvitation, SEND_INVITATION } from './service.ts';
import { toInvitationMail } from './view.ts';

const payloadSchema = z.object({ teamId: z.string(), memberId: z.string() });

/** The feature's jobs. Their payloads hold ids only, never an email. */
export function memberTasks(dependencies: {
  readonly db: Db;
  readonly mailer: Mailer;
  readonly publicUrl: string;
}): Record<string, Task> {
  const { db, mailer, publicUrl } = dependencies;
  return {
    [SEND_INVITATION]: async (payload) => {
      const { teamId, memberId } = payloadSchema.parse(payload);
      const invitation = await findInvitation(db, teamId, memberId);
      if (invitation) await mailer(toInvitationMail(invitation, publicUrl));
    },
  };
}
