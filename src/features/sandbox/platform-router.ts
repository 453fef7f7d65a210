import { okOutput } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { removeSandbox } from './removal-service.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toSandbox } from './view.ts';

/** For the host application, which may give each new team a sandbox. */
export const platformSandbox = {
  createSandbox: platformProcedure({
    input: schema.platformCreateInput,
    output: schema.sandbox,
  }).mutation(async ({ ctx, input }) => {
    const context = platformChangeContextOf(ctx, input.team_id);
    return toSandbox(
      await service.createSandbox(ctx.db, context, {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    );
  }),

  /** Its rows are erased in the background. */
  removeSandbox: platformProcedure({
    input: schema.platformRemoveInput,
    output: okOutput,
  }).mutation(async ({ ctx, input }) => {
    await removeSandbox(ctx.db, platformChangeContextOf(ctx, input.team_id));
    return { ok: true };
  }),
};
