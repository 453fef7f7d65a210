import { z } from 'zod';
import { DELIVERY_ERRORS } from '../../core/delivery-errors.ts';
import { withholdEventData } from '../../core/events.ts';
import { pageQuery, searchPageOf } from '../../core/page.ts';
import { personalParts } from '../../core/private-fields.ts';
import { dateTime, dateTimeInput, id, knownText, nameInput } from '../../core/shapes.ts';
import { DELIVERY_STATUSES } from '../../core/delivery-status.ts';
import { COUNTED_MAX, RECENT, RESEND_STATUSES } from './rules.ts';
import { webhookDelivery, webhookResend } from './schema.ts';

/** A delivery as the team's admins see it in the app. */
export const adminDelivery = webhookDelivery.extend({
  endpoint_id: z.string(),
  event_id: z.string().meta({ description: 'What the receiver gets as `Svc-Event-Id`.' }),
  last_attempt_at: dateTime.nullable().meta({ description: 'When the last attempt ended.' }),
});

export const adminDeliveryPage = searchPageOf(adminDelivery);

function holdsPersonal(body: string): boolean {
  const { type, data } = JSON.parse(body) as { readonly type: string; readonly data: object };
  return Object.keys(withholdEventData(type, data)).length < Object.keys(data).length;
}

export const adminDeliveryDetail = adminDelivery.extend({
  request: z.object({
    method: z.string(),
    url: z.string().meta({ description: 'The URL of the endpoint, as it is now.' }),
    headers: z.record(z.string(), z.string()).meta({
      description:
        'As they are sent. The signature is made for each attempt and not stored, ' +
        'so the header shows its form instead.',
    }),
    body: personalParts(
      z
        .string()
        .nullable()
        .meta({
          description:
            'The body that the event was given. It is null while `member_detail_enabled` is off ' +
            'and the body contains a person or a score.',
        }),
      (body) => (body === null || holdsPersonal(body) ? null : body),
    ),
  }),
  attempts: z
    .array(
      z.object({
        attempt: z.int().min(1),
        ended_at: dateTime,
        response_code: z.int().nullable(),
        response_ms: z.int().nullable(),
        error: knownText(DELIVERY_ERRORS).nullable(),
      }),
    )
    .meta({ description: 'The last ten failed attempts and the last attempt, newest first.' }),
});

const timeRange = {
  since: dateTimeInput.optional().meta({ description: 'Created at or after this moment.' }),
  until: dateTimeInput.optional().meta({ description: 'Created before this moment.' }),
};

export const listDeliveriesInput = z.strictObject({
  ...pageQuery,
  ...timeRange,
  status: z
    .enum([...DELIVERY_STATUSES, 'failed'])
    .optional()
    .meta({ description: '`failed`: `retrying` or `gave_up`.' }),
  event_type: nameInput.optional(),
  endpoint_id: id.optional(),
});

export const getDeliveryInput = z.strictObject({ delivery_id: id });

const countOf = (what: string) =>
  z.int().meta({ description: `${what}, ${COUNTED_MAX} at most; more if \`has_more\` names it.` });

/** How well the receiver of an endpoint takes its deliveries. */
export const endpointHealth = z.object({
  endpoint_id: z.string(),
  url: z.string(),
  description: z.string().nullable(),
  status: z.string().meta({ description: '`active`, `disabled` or `disabled_failures`.' }),
  secret_unconfirmed_since: dateTime.nullable().meta({
    description:
      'When its secret was shown to a person who has not confirmed that it is stored; null if ' +
      'none needs to.',
  }),
  arrived: z.array(z.boolean()).meta({
    description:
      `Whether each of the last ${RECENT} deliveries has arrived, the oldest first. Those that ` +
      'were not tried yet are left out.',
  }),
  days: z
    .array(z.object({ day: z.iso.date(), arrived: z.int(), failed: z.int() }))
    .meta({ description: 'The same deliveries by their UTC day, the first day first.' }),
  median_ms: z.int().nullable().meta({
    description: 'How long the receiver took to answer; null if it has answered none of them.',
  }),
  failed: countOf('Deliveries of the last 24 hours whose last attempt failed'),
  waiting: countOf('Deliveries that wait for an attempt'),
  has_more: z.array(z.enum(['failed', 'waiting'])),
});

export const healthList = z.object({
  data: z.array(endpointHealth).meta({ description: 'One for each endpoint of the team.' }),
});
export const healthInput = z.strictObject({});

export const backlogInput = z.strictObject({ endpoint_id: id });
/** What waits for an attempt at an endpoint. */
export const backlog = z.object({
  first: z.int().meta({ description: 'How many wait for their first attempt.' }),
  again: z
    .array(
      z.object({
        within_s: z.int().nullable().meta({ description: 'null: later than all others.' }),
        count: z.int(),
      }),
    )
    .meta({ description: 'How many are tried again within so many seconds, each in one group.' }),
  has_more: z.boolean().meta({
    description: `Whether more wait: ${COUNTED_MAX} of each kind are counted.`,
  }),
});

export const startResendInput = z.strictObject({
  endpoint_id: id.optional().meta({
    description: 'Without it: every active endpoint that has no resend in progress.',
  }),
  since: dateTimeInput.meta({
    description: 'Deliveries that were created at or after this moment.',
  }),
  until: dateTimeInput.optional().meta({
    description: 'Deliveries that were created before this moment. Without it: until now.',
  }),
  event_type: nameInput.optional().meta({ description: 'Only deliveries of this type of event.' }),
  status: z
    .enum(RESEND_STATUSES)
    .optional()
    .meta({ description: 'Only failed deliveries with this status. `failed`: all of them.' }),
});
/** What a resend would send. */
export const resendCount = z.object({
  total: z.int().meta({
    description: 'How many failed deliveries there are, 10,000 at most for each endpoint.',
  }),
  has_more: z.boolean().meta({ description: 'Whether there are more.' }),
  paused: z
    .array(z.object({ endpoint_id: z.string(), failed: z.int(), has_more: z.boolean() }))
    .meta({
      description: 'Without an `endpoint_id`: the paused endpoints whose failures are left out.',
    }),
});
export const startedResends = z.object({
  data: z
    .array(webhookResend)
    .meta({ description: 'One for each endpoint that has failed deliveries.' }),
});
export const resendList = z.object({
  data: z.array(webhookResend).meta({ description: 'The last 50 resends, newest first.' }),
});
export const listResendsInput = z.strictObject({});
export const resendIdInput = z.strictObject({ resend_id: id });
