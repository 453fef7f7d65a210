import { okOutput } from '../../core/shapes.ts';
import { platformOccasionOf, platformProcedure } from '../../trpc/init.ts';
import { acceptInput, acceptOutput, deletePersonInput } from './platform-schema.ts';
import * as service from './platform-service.ts';

export const platformMembers = {
  accept: platformProcedure({ input: acceptInput, output: acceptOutput }).mutation(({ ctx, input }) => {
    const { team_id, user_id, member_id, email } = input;
    const acceptance = { userId: user_id, memberId: member_id ?? null, email: email ?? null };
    return service.acceptInvitation(ctx.db, platformOccasionOf(ctx, team_id), acceptance);
  }),

  deletePerson: platformProcedure({ input: deletePersonInput, output: okOutput }).mutation(async ({ ctx, input }) => {
    await service.deletePerson(ctx.db, platformOccasionOf(ctx, input.team_id), input.user_id);
    return { ok: true };
  }),
};
