import { okOutput } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import {
  createInput,
  eraseInput,
  ownedTeam,
  team,
  transferOwnershipInput,
  updateInput,
} from './schema.ts';
import { requestErasure } from './erasure-service.ts';
import * as service from './service.ts';

/** Teams as the host application reports them, from their creation to their erasure. */
export const teamLifecycle = {
  create: platformProcedure({ input: createInput, output: ownedTeam }).mutation(
    async ({ ctx, input }) => {
      const context = platformChangeContextOf(ctx, input.team_id);
      const { teamId, ownerMemberId } = await service.createTeam(ctx.db, context, input);
      return { team_id: teamId, owner_member_id: ownerMemberId };
    },
  ),

  update: platformProcedure({ input: updateInput, output: team }).mutation(({ ctx, input }) =>
    service.updateTeam(ctx.db, platformChangeContextOf(ctx, input.team_id), input),
  ),

  transferOwnership: platformProcedure({
    input: transferOwnershipInput,
    output: ownedTeam,
  }).mutation(async ({ ctx, input }) => {
    const { team_id: teamId, member_id: memberId } = input;
    await service.transferOwnership(ctx.db, platformChangeContextOf(ctx, teamId), memberId);
    return { team_id: teamId, owner_member_id: memberId };
  }),

  erase: platformProcedure({ input: eraseInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await requestErasure(ctx.db, platformChangeContextOf(ctx, input.team_id));
      return { ok: true };
    },
  ),
};
