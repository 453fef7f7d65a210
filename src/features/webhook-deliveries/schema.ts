import { z } from 'zod';
import { DELIVERY_STATUSES } from '../../core/delivery-status.ts';
import { EVENT_TYPES } from '../../core/events.ts';
import { pageQuery } from '../../core/page.ts';
import { dateTime, id, knownText } from '../../core/shapes.ts';

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
    response_excerpt: z
      .string()
      .max(1000)
      .nullable()
      .meta({ description: 'The first 1000 characters of the last answer.' }),
    response_ms: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'How long the last attempt took, in milliseconds.' }),
    error: z.string().nullable().meta({
      description:
        'Why the last attempt got no answer, for instance `target_not_public`; null if it got one.',
    }),
  })
  .meta({ description: 'An event on its way to a webhook endpoint.' });

export const webhookDeliveryList = z
  .object({ data: z.array(webhookDelivery).meta({ description: 'The newest delivery first.' }) })
  .meta({ description: 'Deliveries of a webhook endpoint.' });

const endpointId = id.meta({
  description: 'Id of a webhook endpoint.',
  examples: ['whe_01jc4f9d'],
});
const deliveryId = id.meta({ description: 'Id of a delivery.', examples: ['whd_01jc4fa7'] });

export const deliveriesInput = z.object({ endpoint_id: endpointId, limit: pageQuery.limit });
export const retryInput = z.strictObject({ delivery_id: deliveryId });
