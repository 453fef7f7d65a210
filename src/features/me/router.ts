import { z } from 'zod';
import { describePrivacy } from '../../core/privacy.ts';
import { modeOf } from '../../core/sandbox.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { meOutput } from './schema.ts';

/** The key in use. */
export const me = {
  get: endpoint({
    method: 'GET',
    path: '/me',
    scope: null,
    tag: 'Account',
    summary: 'Show the key in use',
    description:
      'Returns the team, the scopes and the limits of the key that the request carries. ' +
      'Needs no scope, so use it to try a key.',
    input: z.object({}),
    output: meOutput,
    outputName: 'Me',
    example: {
      output: {
        tenant_id: 'team_demo',
        kind: 'team',
        mode: 'live',
        scopes: ['users:read', 'trainings:read'],
        rate_limit_per_min: 600,
        privacy: { member_detail_enabled: true },
      },
    },
  }).query(({ ctx }) => ({
    tenant_id: ctx.team.id,
    kind: ctx.team.plan,
    mode: modeOf(ctx.team.id),
    scopes: ctx.actor.kind === 'api_key' ? [...ctx.actor.scopes] : [],
    rate_limit_per_min: ctx.team.rateLimitPerMinute,
    privacy: describePrivacy(ctx.privacy),
  })),
};
