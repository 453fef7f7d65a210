import { okOutput } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { confirmStoredInput, exampleList, examplesInput } from './schema.ts';
import * as service from './service.ts';

/** Webhook endpoints in the app, for the team's admins. */
export const adminWebhooks = {
  examples: appProcedure({ access: 'admins', input: examplesInput, output: exampleList }).query(
    ({ ctx }) => ({ data: service.listExamples(ctx.privacy, ctx.team.id) }),
  ),

  confirmStored: appProcedure({
    access: 'admins',
    input: confirmStoredInput,
    output: okOutput,
  }).mutation(async ({ ctx, input }) => {
    const { endpoint_id: endpointId, secret: shown } = input;
    const { secrets } = ctx.services;
    await service.confirmStored(ctx.db, changeContextOf(ctx), { endpointId, shown }, secrets);
    return { ok: true };
  }),
};
