import { okOutput } from '../../core/shapes.ts';
import { changeContextOf, type Services } from '../../trpc/context.ts';
import { endpoint, type Current } from '../../trpc/endpoint.ts';
import {
  createInput,
  endpointExample as example,
  getInput,
  listInput,
  removeInput,
  rotateSecretInput,
  testInput,
  testOutput,
  updateInput,
  webhookEndpoint,
  webhookEndpointList,
} from './schema.ts';
import * as service from './service.ts';
import { toEndpoint } from './view.ts';

const targetOptions = ({ webhookAllowPrivateTargets, lookup }: Services) => ({
  allowPrivateTargets: webhookAllowPrivateTargets,
  lookup,
});

/** For `If-Match`. What deliveries and the end of a secret change is no version of an endpoint. */
const currentEndpoint = (
  to: Parameters<typeof service.lockEndpoint>[3],
): Current<typeof removeInput> => ({
  shape: webhookEndpoint,
  leavesOut: ['last_success_at', 'earlier_secrets_until'],
  read: async ({ tx, ctx, input }) =>
    toEndpoint(
      await service.lockEndpoint(tx, ctx.team.id, input.endpoint_id, to),
      ctx.services.clock.now(),
    ),
});

/** Webhook endpoints, a part of `webhooks` in the API. */
export const webhookEndpoints = {
  listEndpoints: endpoint({
    method: 'GET',
    path: '/webhook-endpoints',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'List webhook endpoints',
    description: 'All endpoints of the team, newest first, without their secrets.',
    input: listInput,
    output: webhookEndpointList,
    outputName: 'WebhookEndpointList',
    example: { output: { data: [example] } },
  }).query(async ({ ctx }) => {
    const rows = await service.listEndpoints(ctx.db, ctx.team.id);
    const now = ctx.services.clock.now();
    return { data: rows.map((row) => toEndpoint(row, now)) };
  }),

  getEndpoint: endpoint({
    method: 'GET',
    path: '/webhook-endpoints/{endpoint_id}',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Get a webhook endpoint',
    description:
      'One endpoint of the team, without its secret. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: getInput,
    output: webhookEndpoint,
    outputName: 'WebhookEndpoint',
    example: { output: example },
  }).query(async ({ ctx, input }) => {
    const row = await service.getEndpoint(ctx.db, ctx.team.id, input.endpoint_id);
    return toEndpoint(row, ctx.services.clock.now());
  }),

  createEndpoint: endpoint({
    method: 'POST',
    path: '/webhook-endpoints',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Create a webhook endpoint',
    description:
      'The response holds the signing `secret`, which is never shown again. ' +
      'The URL must be https, and its name must resolve to public addresses only. ' +
      'A team may have 50 endpoints, a sandbox 5.',
    input: createInput,
    output: webhookEndpoint,
    outputName: 'WebhookEndpoint',
    bodyName: 'WebhookEndpointCreate',
    successStatus: 201,
    location: '/webhook-endpoints/{id}',
    privateOf: ({ output }) => [output.id],
    prepare: ({ ctx, input }) => service.checkTarget(input.url, targetOptions(ctx.services)),
    example: {
      body: { url: example.url, events: example.events, description: example.description },
      output: {
        ...example,
        last_success_at: null,
        secret: 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiAzMyBieXRlcyEh',
      },
    },
  }).mutation(async ({ ctx, input, prepared }) => {
    const wanted = {
      url: input.url,
      target: prepared,
      events: input.events,
      description: input.description ?? null,
    };
    const { row, secret } = await service.createEndpoint(
      ctx.db,
      changeContextOf(ctx),
      wanted,
      ctx.services.secrets.current,
    );
    return { ...toEndpoint(row, ctx.services.clock.now()), secret };
  }),

  updateEndpoint: endpoint({
    method: 'PATCH',
    path: '/webhook-endpoints/{endpoint_id}',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Change a webhook endpoint',
    description:
      'Sets the fields that the body names; null clears `description`. ' +
      '`disabled` keeps what waits until the endpoint is `active` again. What happens meanwhile ' +
      'may never be sent (see `GET /events`). `active` also ends a pause after failures.',
    input: updateInput,
    output: webhookEndpoint,
    outputName: 'WebhookEndpoint',
    bodyName: 'WebhookEndpointUpdate',
    prepare: async ({ ctx, input }) =>
      input.url === undefined ? null : service.checkTarget(input.url, targetOptions(ctx.services)),
    current: currentEndpoint('change'),
    example: { body: { status: 'disabled' }, output: { ...example, status: 'disabled' } },
  }).mutation(async ({ ctx, input, prepared }) => {
    const { endpoint_id, ...change } = input;
    const row = await service.updateEndpoint(ctx.db, changeContextOf(ctx), endpoint_id, {
      ...change,
      target: prepared,
    });
    return toEndpoint(row, ctx.services.clock.now());
  }),

  removeEndpoint: endpoint({
    method: 'DELETE',
    path: '/webhook-endpoints/{endpoint_id}',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Delete a webhook endpoint',
    description: 'Removes the endpoint and its deliveries. Waiting ones are not sent any more.',
    input: removeInput,
    output: okOutput,
    outputName: 'Ok',
    current: currentEndpoint('removal'),
    example: { output: { ok: true } },
  }).mutation(async ({ ctx, input }) => {
    await service.removeEndpoint(ctx.db, changeContextOf(ctx), input.endpoint_id);
    return { ok: true };
  }),

  rotateSecret: endpoint({
    method: 'POST',
    path: '/webhook-endpoints/{endpoint_id}/rotate-secret',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'The response holds the new signing `secret`, which is never shown again. ' +
      'For `grace_s` seconds, deliveries are also signed with the old one.',
    input: rotateSecretInput,
    output: webhookEndpoint,
    outputName: 'WebhookEndpoint',
    bodyName: 'WebhookSecretRotation',
    errors: {
      conflict:
        'A secret cannot be read (`grace_s` 0 replaces it), or a call with the same ' +
        '`Idempotency-Key` is running.',
    },
    privateOf: ({ output }) => [output.id],
    example: {
      body: { grace_s: 86_400 },
      output: {
        ...example,
        secret: 'whsec_YSBuZXcgc2VjcmV0IG9mIHRoZSBleGFtcGxlLCAzMyBi',
        earlier_secrets_until: '2026-11-03T10:05:00.000Z',
      },
    },
  }).mutation(async ({ ctx, input }) => {
    const { row, secret } = await service.rotateSecret(
      ctx.db,
      changeContextOf(ctx),
      { endpointId: input.endpoint_id, graceS: input.grace_s },
      ctx.services.secrets,
      ctx.services.clock.override(),
    );
    return { ...toEndpoint(row, ctx.services.clock.now()), secret };
  }),

  testEndpoint: endpoint({
    method: 'POST',
    path: '/webhook-endpoints/{endpoint_id}/test',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description:
      'Queues one event, which is sent within seconds: a `ping`, or the example of another type ' +
      'with `test: true` beside its `type`. Its ids belong to nothing. ' +
      'It is sent to a paused endpoint, too, and does not change the status of the endpoint. ' +
      'Read the outcome from the list of deliveries.',
    input: testInput,
    output: testOutput,
    outputName: 'WebhookTest',
    successStatus: 202,
    bodyName: 'WebhookTestRequest',
    isBodyOptional: true,
    example: {
      body: { event_type: 'member.joined' },
      output: { delivery_id: 'whd_01jc4fa7', status: 'pending' },
    },
  }).mutation(async ({ ctx, input }) => {
    const { endpoint_id: endpointId, event_type: eventType } = input;
    const wanted = { endpointId, eventType };
    const row = await service.testEndpoint(ctx.db, changeContextOf(ctx), wanted);
    return { delivery_id: row.id, status: row.status };
  }),
};
