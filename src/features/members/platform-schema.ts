import { z } from 'zod';
import { dateTime } from '../../core/shapes.ts';
import { hostEmail, hostId, teamInput } from '../../core/platform-shapes.ts';

/** One of `member_id` and `email` says which invitation. */
export const acceptInput = z
  .strictObject({
    ...teamInput,
    user_id: hostId,
    member_id: hostId.optional(),
    email: hostEmail.optional(),
  })
  .refine((input) => (input.member_id === undefined) !== (input.email === undefined), {
    error: 'Name the invitation by member_id or by email.',
  });

/** Without the address: the host application knows it better. */
export const acceptOutput = z.object({
  id: z.string(),
  user_id: z.string().nullable(),
  role: z.string(),
  status: z.string(),
  joined_at: dateTime.nullable(),
});

export const deletePersonInput = z.strictObject({ ...teamInput, user_id: hostId });
