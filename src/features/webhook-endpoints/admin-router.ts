import { appProcedure } from '../../trpc/procedures.ts';
import { exampleList, examplesInput } from './schema.ts';
import * as service from './service.ts';

/** Webhook endpoints in the app, for the team's admins. */
export const adminWebhooks = {
  examples: appProcedure({ access: 'admins', input: examplesInput, output: exampleList }).query(
    ({ ctx }) => ({ data: service.listExamples(ctx.privacy, ctx.team.id) }),
  ),
};
