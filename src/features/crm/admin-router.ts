import { z } from 'zod';
import { okOutput } from '../../core/shapes.ts';
import { appProcedure, changeContextOf } from '../../trpc/init.ts';
import * as connections from './connections.ts';
import { connectInput, connection, connectionInput, connectionList } from './schema.ts';
import { toConnection } from './view.ts';

/** CRM connections, in the app. */
export const adminCrm = {
  list: appProcedure({ access: 'admins', input: z.strictObject({}), output: connectionList }).query(
    async ({ ctx }) => ({
      data: (await connections.listConnections(ctx.db, ctx.team.id, ctx.services.clock.now())).map(toConnection),
    }),
  ),

  connect: appProcedure({ access: 'admins', input: connectInput, output: connection }).mutation(
    async ({ ctx, input }) => {
      const { provider, credentials: token, objection_marker = null, base_url = null } = input;
      const wanted = { provider, token, objectionMarker: objection_marker, baseUrl: base_url };
      const { secrets, webhookAllowPrivateTargets } = ctx.services;
      // The switch that no process in production starts with (decisions 37).
      const options = { appSecret: secrets.current, allowBaseUrl: webhookAllowPrivateTargets };
      return toConnection(await connections.connect(ctx.db, changeContextOf(ctx), wanted, options));
    },
  ),

  pause: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) => toConnection(await connections.pause(ctx.db, changeContextOf(ctx), input.connection_id)),
  ),

  resume: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) => toConnection(await connections.resume(ctx.db, changeContextOf(ctx), input.connection_id)),
  ),

  syncNow: appProcedure({ access: 'admins', input: connectionInput, output: connection }).mutation(
    async ({ ctx, input }) =>
      toConnection(await connections.syncNow(ctx.db, changeContextOf(ctx), input.connection_id)),
  ),

  disconnect: appProcedure({ access: 'admins', input: connectionInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await connections.disconnect(ctx.db, changeContextOf(ctx), input.connection_id);
      return { ok: true };
    },
  ),
};
