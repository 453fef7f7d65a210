import type { Context } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';

/** The alerts that the caller gets by mail. Nobody sees or changes those of others. */
export const alerts = {
  get: appProcedure({
    access: 'admins',
    input: schema.nothing,
    output: schema.alerts,
  }).query(async ({ ctx }) => ({ kinds: await service.getKinds(ctx.db, callerOf(ctx)) })),

  set: appProcedure({
    access: 'admins',
    input: schema.setInput,
    output: schema.alerts,
  }).mutation(async ({ ctx, input }) => ({
    kinds: await service.setKinds(ctx.db, ctx.services.clock, callerOf(ctx), input.kinds),
  })),
};

/** Only members have access, and the id of their actor is that of the membership. */
function callerOf({ team, actor }: Context) {
  return { teamId: team.id, memberId: actor.id };
}
