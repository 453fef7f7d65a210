import { endpoint } from '../../trpc/endpoint.ts';
import { getInput, loggedRequest } from './schema.ts';
import * as service from './service.ts';
import { toRequest } from './view.ts';

/** The request log in the API. */
export const requests = {
  get: endpoint({
    method: 'GET',
    path: '/requests/{request_id}',
    scope: null,
    tag: 'Account',
    summary: 'Get an earlier request',
    description:
      'What became of a request that this key made in the last seven days. It is shown a few ' +
      'seconds after its response. Requests that were refused or failed are all kept; of the ' +
      'others, some may be left out. Bodies and values are never kept. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: getInput,
    output: loggedRequest,
    outputName: 'LoggedRequest',
    errors: {
      not_found: 'This key has made no such request in the last seven days, or it was not kept.',
    },
    example: {
      output: {
        id: '01932f4c-6b1e-7c3a-9f2d-5e8a1b7c4d60',
        created_at: '2026-11-02T09:15:00.000Z',
        key_id: 'key_demo',
        method: 'POST',
        route: '/assignments',
        status: 422,
        duration_ms: 4,
        network: '203.0.113.0/24',
        error_code: 'validation_error',
        errors: [{ path: 'body.title', code: 'too_small' }],
      },
    },
  }).query(async ({ ctx, input }) =>
    toRequest(
      await service.getRequest(ctx.db, ctx.services.clock, {
        teamId: ctx.team.id,
        actor: ctx.actor,
        id: input.request_id,
      }),
    ),
  ),
};
