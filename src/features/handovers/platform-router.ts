import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { handover, platformCreateInput } from './schema.ts';
import * as service from './service.ts';
import { toHandover } from './view.ts';

/** A link for a key that a service has made (`platform.apiKeys`). */
export const platformHandovers = {
  create: platformProcedure({ input: platformCreateInput, output: handover }).mutation(
    async ({ ctx, input }) => {
      const { team_id: teamId, handover_id: id, key_id: keyId, sealed } = input;
      const wanted = { id, keyId, sealed: Buffer.from(sealed, 'base64url') };
      const context = platformChangeContextOf(ctx, teamId);
      return toHandover(await service.createHandoverFor(ctx.db, context, wanted));
    },
  ),
};
