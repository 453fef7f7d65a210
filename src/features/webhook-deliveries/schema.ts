import { z } from 'zod';
import { DELIVERY_ERRORS } from '../../core/delivery-errors.ts';
import { DELIVERY_STATUSES } from '../../core/delivery-status.ts';
import { EVENT_TYPES } from '../../core/events.ts';
import { pageQuery } from '../../core/page.ts';
import { dateTime, dateTimeInput, id, knownText, nameInput } from '../../core/shapes.ts';
import { LIST_STATUSES, RESEND_STATES, RESEND_STATUSES } from './rules.ts';

/** One event on its way to one endpoint. */
export const webhookDelivery = z
  .object({
    id: z.string().meta({ description: 'Id of the delivery.' }),
    attempt: z.int().min(0).meta({ description: 'How many attempts have been made.' }),
    status: knownText(DELIVERY_STATUSES).meta({
      description:
        '`pending` (not yet tried), `retrying` (waiting for the next attempt), `ok`, ' +
        'or `gave_up` after the last attempt failed.',
    }),
    event_type: knownText(EVENT_TYPES)
      .nullable()
      .meta({ description: 'The type of the event that is delivered.' }),
    created_at: dateTime.nullable().meta({ description: 'When the delivery was queued.' }),
    next_try_at: dateTime
      .nullable()
      .meta({ description: 'When the next attempt is due; null if there will be none.' }),
    response_code: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the last answer; null if there was none.' }),
    response_excerpt: z.string().max(1000).nullable().meta({
      description:
        'The first 1000 characters of the last answer; of a compressed one, its encoding.',
    }),
    response_ms: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'How long the last attempt took, in milliseconds.' }),
    error: knownText(DELIVERY_ERRORS)
      .nullable()
      .meta({ description: 'Why the last attempt got no answer; null if it got one.' }),
    event_id: z
      .string()
      .optional()
      .meta({
        description:
          'The event, as `GET /events` shows it; the receiver gets it as `Svc-Event-Id`. Only in ' +
          'a list with `status`, `event_type`, `since`, `until` or `cursor`.',
      }),
  })
  .meta({ description: 'An event on its way to a webhook endpoint.' });

export const deliveryExample = {
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

export const webhookDeliveryList = z
  .object({
    data: z.array(webhookDelivery).meta({ description: 'The newest delivery first.' }),
    next_cursor: z
      .string()
      .nullable()
      .optional()
      .meta({
        description:
          'Only with `status`, `event_type`, `since`, `until` or `cursor`: pass it as `cursor` ' +
          'for the page that follows; null on the last page. A page before the last one can hold ' +
          'fewer entries than `limit`, or none.',
      }),
  })
  .meta({ description: 'Deliveries of a webhook endpoint.' });

/** A bulk resend of the failed deliveries of one endpoint. */
export const webhookResend = z
  .object({
    id: z.string().meta({ description: 'Id of the resend.' }),
    endpoint_id: z.string().meta({ description: 'The webhook endpoint.' }),
    state: knownText(RESEND_STATES).meta({
      description:
        '`running`; `done`, when all were queued again; `cancelled`. The outcome of each attempt ' +
        'is in the list of deliveries.',
    }),
    since: dateTime.meta({ description: 'Deliveries that were queued at or after this moment.' }),
    until: dateTime.nullable().meta({
      description: 'Deliveries that were queued before this moment; null: until the resend began.',
    }),
    event_type: knownText(EVENT_TYPES)
      .nullable()
      .meta({ description: 'The type of the events; null for every type.' }),
    status: knownText(RESEND_STATUSES.slice(1))
      .nullable()
      .meta({ description: 'The status of the deliveries; null for all that failed.' }),
    total: z
      .int()
      .min(0)
      .meta({
        description:
          'How many of them there were at the start, among the first 10,000 that had failed, or ' +
          '500 in a sandbox.',
      }),
    has_more: z.boolean().meta({
      description:
        'Whether more had failed. A resend sends 10,000 at most, in a sandbox 500; another one ' +
        'since `reached_at` takes the others.',
    }),
    sent: z
      .int()
      .min(0)
      .meta({ description: 'How many have been queued again. Some may have succeeded meanwhile.' }),
    reached_at: dateTime.nullable().meta({
      description: 'When the last delivery that it has come to had been queued; null before any.',
    }),
    created_at: dateTime.meta({ description: 'When the resend began.' }),
    finished_at: dateTime.nullable().meta({ description: 'When it ended; null while it runs.' }),
  })
  .meta({ description: 'Failed deliveries of a webhook endpoint that are sent again.' });

export const resendExample = {
  id: 'whr_01jc4fb2',
  endpoint_id: 'whe_01jc4f9d',
  state: 'running',
  since: '2026-11-01T00:00:00.000Z',
  until: null,
  event_type: null,
  status: 'gave_up',
  total: 1_250,
  has_more: false,
  sent: 0,
  reached_at: null,
  created_at: '2026-11-02T09:30:00.000Z',
  finished_at: null,
};

const endpointId = id.meta({
  description: 'Id of a webhook endpoint.',
  examples: ['whe_01jc4f9d'],
});
const deliveryId = id.meta({ description: 'Id of a delivery.', examples: ['whd_01jc4fa7'] });

const ofType = knownText(EVENT_TYPES, nameInput).optional();

export const deliveriesInput = z.object({
  endpoint_id: endpointId,
  ...pageQuery,
  status: knownText(LIST_STATUSES, nameInput)
    .optional()
    .meta({
      description: 'Only deliveries with this status. `failed`: `retrying` or `gave_up`.',
      examples: ['failed'],
    }),
  event_type: ofType.meta({
    description: 'Only deliveries of this type of event.',
    examples: ['assignment.created'],
  }),
  since: dateTimeInput.optional().meta({
    description:
      'Only deliveries that were queued at or after this moment; a date-time with an offset. ' +
      'Encode the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  until: dateTimeInput.optional().meta({
    description: 'Only deliveries that were queued before this moment.',
    examples: ['2026-11-02T00:00:00Z'],
  }),
});
export const retryInput = z.strictObject({ delivery_id: deliveryId });

export const resendInput = z.strictObject({
  endpoint_id: endpointId,
  since: dateTimeInput.meta({
    description: 'Deliveries that were queued at or after this moment.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  until: dateTimeInput.optional().meta({
    description: 'Deliveries that were queued before this moment. Without it: until now.',
    examples: ['2026-11-02T00:00:00Z'],
  }),
  event_type: ofType.meta({
    description: 'Only deliveries of this type of event.',
    examples: ['training.completed'],
  }),
  status: knownText(RESEND_STATUSES, nameInput)
    .default('failed')
    .meta({
      description:
        'Only deliveries that are still `retrying`, or that `gave_up`. `failed`: both of them.',
      examples: ['gave_up'],
    }),
});

const resendId = id.meta({ description: 'Id of a resend.', examples: ['whr_01jc4fb2'] });

export const getResendInput = z.object({ resend_id: resendId });
export const cancelResendInput = z.strictObject({ resend_id: resendId });
