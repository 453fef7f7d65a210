import { z } from 'zod';
import { dateTime, knownAddress } from '../../core/shapes.ts';
import { hostId, teamInput } from '../../core/platform-shapes.ts';

/** Either `member_id` or `email` names the invitation. */
export const acceptInput = z
  .strictObject({
    ...teamInput,
    user_id: hostId,
    member_id: hostId.optional(),
    email: knownAddress.optional(),
  })
  .refine((input) => (input.member_id === undefined) !== (input.email === undefined), {
    error: 'Name the invitation by member_id or by email.',
  });

/** The accepted membership, without the email, which the host application knows. */
export const acceptOutput = z.object({
  id: z.string(),
  user_id: z.string().nullable(),
  role: z.string(),
  status: z.string(),
  joined_at: dateTime.nullable(),
});

export const deletePersonInput = z.strictObject({ ...teamInput, user_id: hostId });
