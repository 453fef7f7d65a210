import { pageResponse } from '../../core/page.ts';
import { changeContextOf } from '../../trpc/context.ts';
import { endpoint } from '../../trpc/endpoint.ts';
import * as resends from './resend-service.ts';
import {
  cancelResendInput,
  deliveriesInput,
  deliveryExample as example,
  getResendInput,
  resendExample,
  resendInput,
  retryInput,
  webhookDelivery,
  webhookDeliveryList,
  webhookResend,
} from './schema.ts';
import * as service from './service.ts';
import { toDelivery, toListedDelivery, toResend } from './view.ts';

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
      'Deliveries are kept for 30 days after their last attempt. ' +
      'With `status`, `event_type`, `since`, `until` or `cursor`, which are additions of this ' +
      'service, the list has pages, and each delivery has its `event_id`. ' +
      'Without them it is one page, also for who iterates: `since` leads to all deliveries.',
    input: deliveriesInput,
    output: webhookDeliveryList,
    outputName: 'WebhookDeliveryList',
    example: { output: { data: [example] } },
  }).query(async ({ ctx, input }) => {
    const { endpoint_id: endpointId, limit, ...ours } = input;
    if (Object.values(ours).some((value) => value !== undefined)) {
      const page = await service.listPage(ctx.db, ctx.team.id, input);
      return pageResponse(page, toListedDelivery);
    }
    const rows = await service.listDeliveries(ctx.db, ctx.team.id, endpointId, limit);
    return { data: rows.map(toDelivery) };
  }),

  resendDeliveries: endpoint({
    method: 'POST',
    path: '/webhook-endpoints/{endpoint_id}/resend',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Send failed deliveries again',
    description:
      'Queues the failed deliveries of a stretch of time again, oldest first, 10,000 at most ' +
      '(500 in a sandbox). ' +
      'They are attempted a few hundred at a time, beside new events. ' +
      'The endpoint must be `active`, and has one resend at a time. ' +
      'Read the progress by the `id` of the response. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: resendInput,
    output: webhookResend,
    outputName: 'WebhookResend',
    bodyName: 'WebhookResendCreate',
    successStatus: 202,
    errors: {
      conflict:
        'A resend of this endpoint has not ended. With `Retry-After`: a call with the same ' +
        '`Idempotency-Key` is still running.',
    },
    example: {
      body: { since: '2026-11-01T00:00:00Z', status: 'gave_up' },
      output: resendExample,
    },
  }).mutation(async ({ ctx, input }) => {
    const { endpoint_id: endpointId, since, until = null, event_type, status } = input;
    const wanted = { endpointId, since, until, eventType: event_type ?? null, status };
    return toResend(await resends.startResend(ctx.db, changeContextOf(ctx), wanted));
  }),

  getResend: endpoint({
    method: 'GET',
    path: '/webhook-resends/{resend_id}',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Get the progress of a resend',
    description:
      'How far a resend of failed deliveries has come. It is kept for 30 days after its end. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: getResendInput,
    output: webhookResend,
    outputName: 'WebhookResend',
    example: {
      output: {
        ...resendExample,
        sent: 500,
        reached_at: '2026-11-01T13:05:00.000Z',
      },
    },
  }).query(async ({ ctx, input }) =>
    toResend(await resends.unnamed(resends.getResend(ctx.db, ctx.team.id, input.resend_id))),
  ),

  cancelResend: endpoint({
    method: 'POST',
    path: '/webhook-resends/{resend_id}/cancel',
    scope: 'webhooks:manage',
    tag: 'Webhooks',
    summary: 'Cancel a resend',
    description:
      'Queues no more deliveries. Those that were queued again already are still attempted. ' +
      'A resend that has ended stays as it is. ' +
      'This operation is an addition of this service to the specification of the API.',
    input: cancelResendInput,
    output: webhookResend,
    outputName: 'WebhookResend',
    example: {
      output: {
        ...resendExample,
        state: 'cancelled',
        sent: 500,
        reached_at: '2026-11-01T13:05:00.000Z',
        finished_at: '2026-11-02T09:31:00.000Z',
      },
    },
  }).mutation(async ({ ctx, input }) => {
    const cancelled = resends.cancelResend(ctx.db, changeContextOf(ctx), input.resend_id);
    return toResend(await resends.unnamed(cancelled));
  }),
};
