import { okOutput } from '../../core/shapes.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import { removeSandbox } from './removal-service.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toSandbox } from './view.ts';

/**
 * The team's sandbox, for who is in the live team. In the sandbox the page calls what test keys
 * call, too (`router.ts`).
 */
export const adminSandbox = {
  get: appProcedure({
    access: 'admins',
    input: schema.nothing,
    output: schema.maybeSandbox,
  }).query(async ({ ctx }) => {
    const found = await service.findSandbox(ctx.db, ctx.team.id);
    return { sandbox: found && toSandbox(found) };
  }),

  create: appProcedure({
    access: 'admins',
    input: schema.createInput,
    output: schema.sandbox,
  }).mutation(async ({ ctx, input }) =>
    toSandbox(
      await service.createSandbox(ctx.db, changeContextOf(ctx), {
        scenario: input.scenario,
        appSecret: ctx.services.secrets.current,
      }),
    ),
  ),

  /** Its rows are erased in the background. */
  remove: appProcedure({
    access: 'admins',
    input: schema.nothing,
    output: okOutput,
  }).mutation(async ({ ctx }) => {
    await removeSandbox(ctx.db, changeContextOf(ctx));
    return { ok: true };
  }),
};
