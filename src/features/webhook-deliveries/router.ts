import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import { deliveriesInput, retryInput, webhookDelivery, webhookDeliveryList } from './schema.ts';
import * as service from './service.ts';
import { toDelivery } from './view.ts';

const example = {
  id: 'whd_01jc4fa7',
  attempt: 1,
  status: 'retrying',
  event_type: 'training.completed',
  created_at: '2026-11-02T09:20:00.000Z',
  next_try_at: '2026-11-02T09:21:00.000Z',
  response_code: 500,
  response_excerpt: 'Internal Server Error',
  response_ms: 48,
  error: null,
};

/** Deliveries, a part of `webhooks` in the API. */
export const webhookDeliveries = {
  retryDelivery: endpoint({
    method: 'POST',
    path: '/webhook-deliveries/{delivery_id}/retry',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Retry a delivery now',
    description:
      'Makes one more attempt at once, for a delivery that is `retrying` or `gave_up`. ' +
      'If it fails, a `retrying` delivery keeps its schedule. ' +
      'The response shows the delivery as it was before the attempt.',
    input: retryInput,
    output: webhookDelivery,
    outputName: 'WebhookDelivery',
    successStatus: 202,
    example: { output: example },
  }).mutation(async ({ ctx, input }) =>
    toDelivery(await service.retryDelivery(ctx.db, changeContextOf(ctx), input.delivery_id)),
  ),

  listDeliveries: endpoint({
    method: 'GET',
    path: '/webhook-endpoints/{endpoint_id}/deliveries',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'List deliveries',
    description:
      'The last deliveries to an endpoint, newest first. ' +
      'Deliveries are kept for 30 days after their last attempt.',
    input: deliveriesInput,
    output: webhookDeliveryList,
    outputName: 'WebhookDeliveryList',
    example: { output: { data: [example] } },
  }).query(async ({ ctx, input }) => {
    const { endpoint_id: endpointId, limit } = input;
    const rows = await service.listDeliveries(ctx.db, ctx.team.id, endpointId, limit);
    return { data: rows.map(toDelivery) };
  }),
};
