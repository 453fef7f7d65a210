import { z } from 'zod';
import { okOutput } from '../../../core/shapes.ts';
import { changeContextOf, type Context, type Services } from '../../../trpc/context.ts';
import { appProcedure } from '../../../trpc/procedures.ts';
import {
  connectInput,
  connection,
  connectionInput,
  connectionList,
  replaceCredentialsInput,
} from './schema.ts';
import * as service from './service.ts';
import { toConnection } from './view.ts';

/** `admin.crm`: how admins manage the team's CRM connections in the app. */
export const adminCrm = {
  list: appProcedure({ access: 'admins', input: z.strictObject({}), output: connectionList }).query(
    async ({ ctx }) => {
      const rows = await service.listConnections(ctx.db, ctx.services.clock, ctx.team.id);
      return { data: rows.map(toConnection) };
    },
  ),

  connect: appProcedure({ access: 'admins', input: connectInput, output: connection }).mutation(
    async ({ ctx, input }) => {
      const { provider, credentials, objection_marker = null, base_url = null } = input;
      const wanted = {
        provider,
        credentials,
        objectionMarker: objection_marker,
        baseUrl: base_url,
      };
      const options = optionsOf(ctx.services);
      return toConnection(await service.connect(ctx.db, byOf(ctx), wanted, options));
    },
  ),

  replaceCredentials: appProcedure({
    access: 'admins',
    input: replaceCredentialsInput,
    output: connection,
  }).mutation(async ({ ctx, input }) => {
    const { connection_id, provider, credentials } = input;
    const wanted = { connectionId: connection_id, provider, credentials };
    const options = optionsOf(ctx.services);
    return toConnection(await service.replaceCredentials(ctx.db, byOf(ctx), wanted, options));
  }),

  pause: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) =>
      toConnection(await service.pause(ctx.db, byOf(ctx), input.connection_id)),
  ),

  resume: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) =>
      toConnection(await service.resume(ctx.db, byOf(ctx), input.connection_id)),
  ),

  syncNow: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) =>
      toConnection(await service.syncNow(ctx.db, byOf(ctx), input.connection_id)),
  ),

  disconnect: appProcedure({ access: 'admins', input: connectionInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.disconnect(ctx.db, byOf(ctx), input.connection_id);
      return { ok: true };
    },
  ),
};

function byOf(ctx: Context): service.CrmChange {
  return { context: changeContextOf(ctx), clock: ctx.services.clock };
}

function optionsOf({ secrets, webhookAllowPrivateTargets }: Services): service.CredentialOptions {
  // Configuration refuses this switch in production.
  return { appSecret: secrets.current, allowBaseUrl: webhookAllowPrivateTargets };
}
