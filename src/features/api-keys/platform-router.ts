import { toInstant } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { createFirstInput, firstKey, platformRevokeInput, revokedKey } from './platform-schema.ts';
import * as service from './platform-service.ts';
import { toFirstKey, toRevokedKey } from './view.ts';

/** For the time before anybody of a team can sign in, and for a key that has leaked. */
export const platformApiKeys = {
  createFirst: platformProcedure({ input: createFirstInput, output: firstKey }).mutation(
    async ({ ctx, input }) => {
      const { team_id: teamId, name, template, scopes = [], allowed_ips, expires_at } = input;
      const by = {
        context: platformChangeContextOf(ctx, teamId),
        now: ctx.services.clock.override(),
      };
      const issued = await service.createFirstKey(ctx.db, by, {
        name,
        scopes: template === undefined ? scopes : service.scopesOfTemplate(template),
        allowedIps: allowed_ips ?? null,
        expiresAt: typeof expires_at === 'string' ? toInstant(expires_at) : null,
      });
      return toFirstKey(issued);
    },
  ),

  revoke: platformProcedure({ input: platformRevokeInput, output: revokedKey }).mutation(
    async ({ ctx, input: { team_id: teamId, key_id: keyId } }) => {
      const by = {
        context: platformChangeContextOf(ctx, teamId),
        now: ctx.services.clock.override(),
      };
      return toRevokedKey(await service.revokeKeyOf(ctx.db, by, keyId));
    },
  ),
};
