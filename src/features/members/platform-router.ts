import { okOutput } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { acceptInput, acceptOutput, deletePersonInput } from './platform-schema.ts';
import * as service from './platform-service.ts';

/** Members as the host application reports them. */
export const platformMembers = {
  accept: platformProcedure({ input: acceptInput, output: acceptOutput }).mutation(
    ({ ctx, input }) => {
      const { team_id, user_id, member_id, email } = input;
      const acceptance = { userId: user_id, memberId: member_id ?? null, email: email ?? null };
      return service.acceptInvitation(ctx.db, platformChangeContextOf(ctx, team_id), acceptance);
    },
  ),

  deletePerson: platformProcedure({ input: deletePersonInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.deletePerson(
        ctx.db,
        platformChangeContextOf(ctx, input.team_id),
        input.user_id,
      );
      return { ok: true };
    },
  ),
};
