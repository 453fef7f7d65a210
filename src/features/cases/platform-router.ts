import { okOutput, orNull } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { createInput, platformCase, removeInput, updateInput } from './platform-schema.ts';
import * as service from './platform-service.ts';
import { toPlatformCase } from './platform-view.ts';

/** How the host application writes cases, private ones included. */
export const platformCases = {
  create: platformProcedure({ input: createInput, output: platformCase }).mutation(
    async ({ ctx, input }) => {
      const { team_id, case_id: id, ...content } = orNull(createInput, input);
      const context = platformChangeContextOf(ctx, team_id);
      return toPlatformCase(await service.createCase(ctx.db, context, { id, ...content }));
    },
  ),

  update: platformProcedure({ input: updateInput, output: platformCase }).mutation(
    async ({ ctx, input }) => {
      const { team_id, case_id, ...change } = input;
      return toPlatformCase(
        await service.updateCase(ctx.db, platformChangeContextOf(ctx, team_id), case_id, change),
      );
    },
  ),

  remove: platformProcedure({ input: removeInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.removeCase(ctx.db, platformChangeContextOf(ctx, input.team_id), input.case_id);
      return { ok: true };
    },
  ),
};
