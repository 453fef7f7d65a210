import type { z } from 'zod';
import { searchResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { appProcedure } from '../../trpc/procedures.ts';
import {
  adminDeliveryDetail,
  adminDeliveryPage,
  backlog,
  backlogInput,
  getDeliveryInput,
  healthInput,
  healthList,
  listDeliveriesInput,
  listResendsInput,
  resendCount,
  resendIdInput,
  resendList,
  startedResends,
  startResendInput,
} from './admin-schema.ts';
import { webhookResend } from './schema.ts';
import * as service from './admin-service.ts';
import {
  toAdminDelivery,
  toAdminDeliveryDetail,
  toBacklog,
  toHealth,
  toResendCount,
} from './admin-view.ts';
import { toResend } from './view.ts';
import * as resends from './resend-service.ts';

/** Deliveries in the app, for the team's admins. */
export const adminDeliveries = {
  list: appProcedure({
    access: 'admins',
    input: listDeliveriesInput,
    output: adminDeliveryPage,
  }).query(async ({ ctx, input }) => {
    const page = await service.listDeliveries(ctx.db, ctx.team.id, input);
    return searchResponse(page, toAdminDelivery);
  }),

  get: appProcedure({
    access: 'admins',
    input: getDeliveryInput,
    output: adminDeliveryDetail,
    privacy: 'redact',
  }).query(async ({ ctx, input }) =>
    toAdminDeliveryDetail(await service.getDelivery(ctx.db, ctx.team.id, input.delivery_id)),
  ),

  health: appProcedure({ access: 'admins', input: healthInput, output: healthList }).query(
    async ({ ctx }) => {
      const all = await service.listHealth(ctx.db, ctx.services.clock, ctx.team.id);
      return { data: all.map(toHealth) };
    },
  ),

  backlog: appProcedure({ access: 'admins', input: backlogInput, output: backlog }).query(
    async ({ ctx, input }) => {
      const { clock } = ctx.services;
      const ids = { teamId: ctx.team.id, endpointId: input.endpoint_id };
      return toBacklog(await service.getBacklog(ctx.db, clock, ids));
    },
  ),

  countResend: appProcedure({
    access: 'admins',
    input: startResendInput,
    output: resendCount,
  }).query(async ({ ctx, input }) => {
    const wanted = resendOf(input);
    const counted = await resends.countResend(ctx.db, changeContextOf(ctx), wanted);
    return toResendCount(counted);
  }),

  listResends: appProcedure({
    access: 'admins',
    input: listResendsInput,
    output: resendList,
  }).query(async ({ ctx }) => {
    const rows = await resends.listResends(ctx.db, ctx.team.id);
    return { data: rows.map(toResend) };
  }),

  startResend: appProcedure({
    access: 'admins',
    input: startResendInput,
    output: startedResends,
  }).mutation(async ({ ctx, input }) => {
    const rows = await resends.startResends(ctx.db, changeContextOf(ctx), resendOf(input));
    return { data: rows.map(toResend) };
  }),

  getResend: appProcedure({ access: 'admins', input: resendIdInput, output: webhookResend }).query(
    async ({ ctx, input }) =>
      toResend(await resends.getResend(ctx.db, ctx.team.id, input.resend_id)),
  ),

  cancelResend: appProcedure({
    access: 'admins',
    input: resendIdInput,
    output: webhookResend,
  }).mutation(async ({ ctx, input }) =>
    toResend(await resends.cancelResend(ctx.db, changeContextOf(ctx), input.resend_id)),
  ),
};

function resendOf(input: z.output<typeof startResendInput>): resends.WantedResend {
  const { endpoint_id: endpointId = null, since, until = null } = input;
  const status = input.status === undefined || input.status === 'failed' ? null : input.status;
  return { endpointId, since, until, eventType: input.event_type ?? null, status };
}
