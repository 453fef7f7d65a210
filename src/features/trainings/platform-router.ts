import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { abortInput, endInput, startInput } from './platform-schema.ts';
import * as service from './platform-service.ts';
import { toDescription, toEnd } from './platform-view.ts';
import { training } from './schema.ts';
import { toTraining } from './view.ts';

/** Trainings as the host application records them. Every procedure returns the current training. */
export const platformTrainings = {
  start: platformProcedure({ input: startInput, output: training }).mutation(
    async ({ ctx, input }) => {
      const context = platformChangeContextOf(ctx, input.team_id);
      return toTraining(
        await service.recordStep(ctx.db, context, toDescription(input), { kind: 'start' }),
      );
    },
  ),

  end: platformProcedure({ input: endInput, output: training }).mutation(async ({ ctx, input }) => {
    const context = platformChangeContextOf(ctx, input.team_id);
    return toTraining(
      await service.recordStep(ctx.db, context, toDescription(input), toEnd(input)),
    );
  }),

  abort: platformProcedure({ input: abortInput, output: training }).mutation(
    async ({ ctx, input }) => {
      const context = platformChangeContextOf(ctx, input.team_id);
      return toTraining(
        await service.recordStep(ctx.db, context, toDescription(input), { kind: 'abort' }),
      );
    },
  ),
};
