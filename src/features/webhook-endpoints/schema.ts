import { z } from 'zod';
import { EVENT_TYPES, SUBSCRIBABLE_EVENTS } from '../../core/events.ts';
import { secretField } from '../../core/private-fields.ts';
import { dateTime, id, knownText, listOf, nameInput } from '../../core/shapes.ts';
import { SETTABLE, STATUSES } from './rules.ts';

const DESCRIPTION_MAX_CHARACTERS = 10_000;
/** Above the limit that the operation checks, with `field` in its error. */
const URL_MAX_CHARACTERS = 10_000;
const GRACE_MAX_S = 7 * 24 * 3600;
/** Above the length of every secret that was ever made. */
const SECRET_MAX_CHARACTERS = 200;
/** Duplicates collapse, so there may be more than there are event types. */
const EVENTS_MAX = 100;

/** A webhook endpoint as the API shows it. Only a creation shows the secret. */
export const webhookEndpoint = z
  .object({
    id: z.string().meta({ description: 'Id of the webhook endpoint.' }),
    url: z.string().meta({ description: 'Where events are sent.' }),
    events: z
      .array(knownText(SUBSCRIBABLE_EVENTS))
      .meta({ description: 'The event types that are delivered.' }),
    status: knownText(STATUSES).meta({
      description:
        '`active`, `disabled` (paused by hand), or `disabled_failures` (paused after three days ' +
        'without a successful delivery).',
    }),
    api_version: z
      .string()
      .meta({ description: 'Version of the events that are sent, year and month.' }),
    description: z
      .string()
      .nullable()
      .meta({ description: "The team's own description; null without one." }),
    created_at: dateTime.nullable().meta({ description: 'When it was created.' }),
    last_success_at: dateTime
      .nullable()
      .meta({ description: 'When a delivery last succeeded; null if none has.' }),
    secret: secretField(
      z.string().meta({
        description:
          'Signs the deliveries. Only in the response to the creation or a rotation, never ' +
          'afterwards; a repeated call returns it only to the API key that made the first one.',
      }),
    ),
    earlier_secrets_until: dateTime.optional().meta({
      description:
        'Until when deliveries are also signed with earlier secrets. Only after a rotation, ' +
        'while they are.',
    }),
  })
  .meta({ description: 'A URL that receives the events of the team.' });

export const endpointExample = {
  id: 'whe_01jc4f9d',
  url: 'https://your-receiver.example/hooks',
  events: ['assignment.created', 'evaluation.completed'],
  status: 'active',
  api_version: '2026-11',
  description: 'Learning platform',
  created_at: '2026-11-02T09:15:00.000Z',
  last_success_at: '2026-11-02T10:00:00.000Z',
};

export const webhookEndpointList = z
  .object({ data: z.array(webhookEndpoint).meta({ description: 'All of them.' }) })
  .meta({ description: 'The webhook endpoints of the team.' });

const endpointId = {
  endpoint_id: id.meta({ description: 'Id of a webhook endpoint.', examples: ['whe_01jc4f9d'] }),
};

// URL, events and status take any text. The operation checks them, because the specification wants
// `field` in that error.
const url = z
  .string()
  .max(URL_MAX_CHARACTERS)
  .meta({
    description:
      'Where events are sent: `https`, at most 2048 characters, without user info or fragment, ' +
      'at public addresses only.',
    examples: ['https://your-receiver.example/hooks'],
  });
const eventTypes = SUBSCRIBABLE_EVENTS.map((type) => `\`${type}\``).join(', ');
const events = listOf(knownText(SUBSCRIBABLE_EVENTS, nameInput), { max: EVENTS_MAX }).meta({
  description: `Event types to deliver, at least one of: ${eventTypes}.`,
  examples: [['assignment.created', 'evaluation.completed']],
});
const description = z
  .string()
  .max(DESCRIPTION_MAX_CHARACTERS)
  .nullable()
  .optional()
  .meta({
    description: "The team's own description; null clears it.",
    examples: ['Learning platform'],
  });

export const listInput = z.object({});
export const getInput = z.object(endpointId);
export const createInput = z.strictObject({ url, events, description });
export const updateInput = z.strictObject({
  ...endpointId,
  url: url.optional(),
  description,
  events: events.optional(),
  status: knownText(SETTABLE, nameInput)
    .optional()
    .meta({ description: '`active` or `disabled`.', examples: ['disabled'] }),
});
export const removeInput = z.strictObject(endpointId);

export const rotateSecretInput = z.strictObject({
  ...endpointId,
  grace_s: z
    .int()
    .min(0)
    .max(GRACE_MAX_S)
    .meta({
      description:
        'The grace period: for so many seconds, deliveries are also signed with the old secret. ' +
        '0: every earlier secret ends at once.',
      examples: [86_400],
    }),
});

export const confirmStoredInput = z.strictObject({
  ...endpointId,
  secret: z.string().max(SECRET_MAX_CHARACTERS).meta({
    description: 'The secret that is stored. It must be the present one of the endpoint.',
  }),
});

export const testInput = z.strictObject({
  ...endpointId,
  event_type: knownText(EVENT_TYPES, nameInput)
    .default('ping')
    .meta({
      description:
        'What the receiver gets: a `ping`, or the example of another type with `test: true`.',
      examples: ['member.joined'],
    }),
});

/** Examples of events, as receivers of the team get them. */
export const exampleList = z.object({
  data: z.array(z.object({ type: z.string(), data: z.record(z.string(), z.unknown()) })),
});
export const examplesInput = z.strictObject({});
export const testOutput = z
  .object({
    delivery_id: z.string().meta({
      description: 'The delivery of the `ping`; its outcome is in the list of deliveries.',
    }),
    status: knownText(['pending']).meta({
      description: 'Always `pending`: the attempt follows within seconds.',
    }),
  })
  .meta({ description: 'A test that is queued.' });
