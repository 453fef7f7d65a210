import { okOutput } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { member, removeInput } from './schema.ts';
import * as service from './service.ts';
import { toMember } from './view.ts';

/** Pending invitations, for the team's admins. */
export const invitations = {
  resend: appProcedure({
    access: 'admins',
    input: removeInput,
    output: member,
    privacy: 'redact',
  }).mutation(async ({ ctx, input }) =>
    toMember(await service.resendInvitation(ctx.db, changeContextOf(ctx), input.member_id)),
  ),

  withdraw: appProcedure({ access: 'admins', input: removeInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.withdrawInvitation(ctx.db, changeContextOf(ctx), input.member_id);
      return { ok: true };
    },
  ),
};
