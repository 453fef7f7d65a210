import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toHandover, toListed } from './view.ts';

/** Links by which keys are handed over. Whoever has one opens it without the app (`http/app`). */
export const handovers = {
  list: appProcedure({
    access: 'admins',
    input: schema.listInput,
    output: schema.handoverPage,
  }).query(async ({ ctx, input }) => {
    const now = ctx.services.clock.now();
    const page = await service.listHandovers(ctx.db, ctx.team.id, input, now);
    return pageResponse(page, toListed);
  }),

  create: appProcedure({
    access: 'schnittstellen',
    input: schema.createInput,
    output: schema.handover,
  }).mutation(async ({ ctx, input }) => {
    const { handover_id: id, key_id: keyId, sealed } = input;
    const wanted = { id, keyId, sealed: Buffer.from(sealed, 'base64url') };
    return toHandover(await service.createHandover(ctx.db, changeContextOf(ctx), wanted));
  }),

  get: appProcedure({
    access: 'admins',
    input: schema.getInput,
    output: schema.handover,
  }).query(async ({ ctx, input }) => {
    const now = ctx.services.clock.now();
    return toHandover(await service.getHandover(ctx.db, ctx.team.id, input.handover_id, now));
  }),

  withdraw: appProcedure({
    access: 'schnittstellen',
    input: schema.withdrawInput,
    output: schema.handover,
  }).mutation(async ({ ctx, input }) =>
    toHandover(await service.withdrawHandover(ctx.db, changeContextOf(ctx), input.handover_id)),
  ),
};
