import { toInstant } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { saveInput, saveOutput } from './platform-schema.ts';
import * as service from './platform-service.ts';

/** Evaluations as the host application saves them. */
export const platformEvaluations = {
  save: platformProcedure({ input: saveInput, output: saveOutput }).mutation(
    async ({ ctx, input }) => {
      const { team_id, training_id, score, tips } = input;
      const { savedAt } = await service.saveEvaluation(
        ctx.db,
        platformChangeContextOf(ctx, team_id),
        {
          training_id,
          saved_at: toInstant(input.saved_at),
          ...score,
          tips,
          goal: input.goal ?? null,
          methodology: input.methodology ?? null,
          strongest: input.strongest ?? null,
          biggest_lever: input.biggest_lever ?? null,
        },
      );
      return { training_id, saved_at: savedAt };
    },
  ),
};
