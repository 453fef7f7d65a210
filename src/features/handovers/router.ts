import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import * as schema from './schema.ts';
import * as service from './service.ts';
import { toEndpointHandover, toHandover, toListed } from './view.ts';

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
    const wanted = { kind: 'key', id: input.handover_id } as const;
    const now = ctx.services.clock.now();
    return toHandover(await service.getHandover(ctx.db, ctx.team.id, wanted, now));
  }),

  withdraw: appProcedure({
    access: 'schnittstellen',
    input: schema.withdrawInput,
    output: schema.handover,
  }).mutation(async ({ ctx, input }) => {
    const wanted = { kind: 'key', id: input.handover_id } as const;
    return toHandover(await service.withdrawHandover(ctx.db, changeContextOf(ctx), wanted));
  }),
};

/** Links by which the secrets of webhook endpoints are handed over. */
export const endpointHandovers = {
  list: appProcedure({
    access: 'admins',
    input: schema.listOfEndpointInput,
    output: schema.endpointHandoverPage,
  }).query(async ({ ctx, input: { endpoint_id: endpointId, ...query } }) => {
    const wanted = { ...query, endpointId };
    const now = ctx.services.clock.now();
    const page = await service.listOfEndpoint(ctx.db, ctx.team.id, wanted, now);
    return pageResponse(page, toEndpointHandover);
  }),

  create: appProcedure({
    access: 'admins',
    input: schema.createForEndpointInput,
    output: schema.endpointHandover,
  }).mutation(async ({ ctx, input }) => {
    const { handover_id: id, endpoint_id: endpointId, secret_hash: hash, sealed } = input;
    const made = await service.createEndpointHandover(
      ctx.db,
      changeContextOf(ctx),
      {
        id,
        endpointId,
        secretHash: Buffer.from(hash, 'base64url'),
        sealed: Buffer.from(sealed, 'base64url'),
      },
      ctx.services.secrets,
    );
    return toEndpointHandover(made);
  }),

  get: appProcedure({
    access: 'admins',
    input: schema.getInput,
    output: schema.endpointHandover,
  }).query(async ({ ctx, input }) => {
    const wanted = { kind: 'endpoint', id: input.handover_id } as const;
    const now = ctx.services.clock.now();
    return toEndpointHandover(await service.getHandover(ctx.db, ctx.team.id, wanted, now));
  }),

  withdraw: appProcedure({
    access: 'admins',
    input: schema.withdrawInput,
    output: schema.endpointHandover,
  }).mutation(async ({ ctx, input }) => {
    const wanted = { kind: 'endpoint', id: input.handover_id } as const;
    const ended = await service.withdrawHandover(ctx.db, changeContextOf(ctx), wanted);
    return toEndpointHandover(ended);
  }),
};
