import { createDocument, type oas31, type ZodOpenApiOperationObject } from 'zod-openapi';
import { z } from 'zod';
import { EVENT_API_VERSION, EVENT_TYPES, EVENTS, type EventType } from '../../core/events.ts';
import type { Language } from '../../core/language.ts';
import { dateTime } from '../../core/shapes.ts';
import { mapValues, tidySchema } from './schemas.ts';

const TEAM_ID = 'team_demo';
const EVENT_ID = 'evt_01jc4f6k2m8q';

const HEADERS = z.object({
  'Svc-Signature': z.string().meta({
    description:
      '`t=<unix time>,v1=<hex>`: the HMAC-SHA256 of `<t>.<raw body>` with the secret of the ' +
      'endpoint. Check it before anything else, and refuse a time older than five minutes. ' +
      'There are several `v1` while an earlier secret is valid: one of them must match.',
    param: {
      example: 't=1793610000,v1=6c5f1d0d4b2f4c8a9e7b3a1f0d2c4e6b8a9c7d5e3f1b2a4c6d8e0f1a3b5c7d9e',
    },
  }),
  'Svc-Event-Id': z.string().meta({
    description:
      'The `id` of the event, the same in every attempt: delivery is at least once, so use it to ' +
      'recognize a repetition.',
    param: { example: EVENT_ID },
  }),
  'webhook-id': z.string().meta({
    description: 'The `id` of the event, as tools for Standard Webhooks expect it.',
    param: { example: EVENT_ID },
  }),
  'webhook-timestamp': z.string().meta({
    description: 'The time of the attempt in seconds since 1970.',
    param: { example: '1793610000' },
  }),
  'webhook-signature': z.string().meta({
    description:
      '`v1,<base64>`: the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw body>`. The key ' +
      'is what the secret encodes in base64 after `whsec_`. Tools for Standard Webhooks verify ' +
      'it. While an earlier secret is valid, there are several with spaces between them.',
    param: { example: 'v1,gDxzU0ADmSA2Eip/ZhBqmURG0avDZlgNLMVtRUrd+Kk=' },
  }),
  traceparent: z
    .string()
    .optional()
    .meta({
      description:
        'W3C Trace Context: with the trace id of the call that raised the event, if that had one.',
      param: { example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    }),
});

/** The `webhooks` section and its components: one entry per event type. */
export function describeWebhooks(): {
  webhooks: Record<string, oas31.PathItemObject>;
  schemas: Record<string, oas31.SchemaObject>;
} {
  const envelopes = new Map(EVENT_TYPES.map((type) => [type, envelopeOf(type)]));
  const document = createDocument({
    openapi: '3.1.0',
    info: { title: 'Events', version: '1' },
    webhooks: Object.fromEntries(
      [...envelopes].map(([type, envelope]) => [type, { post: operationOf(type, envelope) }]),
    ),
    components: {
      schemas: Object.fromEntries(
        [...envelopes].map(([type, envelope]) => [componentOf(type), envelope]),
      ),
    },
  });
  return {
    webhooks: (document.webhooks ?? {}) as Record<string, oas31.PathItemObject>,
    schemas: mapValues(document.components?.schemas ?? {}, tidySchema),
  };
}

/** `crm.sync.failed` → `CrmSyncFailedEvent`. */
export function componentOf(type: EventType): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}

/** An example of the body that a webhook endpoint receives. */
export function eventExample(type: EventType): object {
  return {
    id: EVENT_ID,
    type,
    created_at: '2026-11-02T09:22:00.000Z',
    api_version: EVENT_API_VERSION,
    tenant_id: TEAM_ID,
    data: { team_id: TEAM_ID, ...EVENTS[type].example },
  };
}

/**
 * What a reader must know about the type beside its trigger: whether an endpoint can subscribe to
 * it, and which fields depend on a privacy switch.
 */
export function describeDelivery(type: EventType, language: Language = 'en'): string {
  const { subscribable, personal } = EVENTS[type];
  const { toSubscribers, toOne, withheld } = DELIVERY_TEXTS[language];
  const recipients = subscribable ? toSubscribers : toOne;
  if (personal.length === 0) return recipients;
  return `${recipients} ${withheld(listFields(personal, language), personal.length)}`;
}

const DELIVERY_TEXTS: Readonly<
  Record<
    Language,
    {
      readonly toSubscribers: string;
      readonly toOne: string;
      readonly withheld: (fields: string, count: number) => string;
    }
  >
> = {
  en: {
    toSubscribers: 'Sent to every active endpoint that subscribes to it.',
    toOne: 'Sent to one endpoint. It is not subscribable.',
    withheld: (fields, count) =>
      `${fields} ${count === 1 ? 'is' : 'are'} left out while \`member_detail_enabled\` is off.`,
  },
  de: {
    toSubscribers: 'Geht an jeden aktiven Endpunkt, der es abonniert hat.',
    toOne: 'Geht an einen einzigen Endpunkt und lässt sich nicht abonnieren.',
    withheld: (fields, count) =>
      `${fields} ${count === 1 ? 'fehlt' : 'fehlen'}, solange \`member_detail_enabled\` aus ist.`,
  },
};

/** `a`, `b` and `c`. */
export function listFields(names: readonly string[], language: Language = 'en'): string {
  const list = new Intl.ListFormat(language === 'en' ? 'en-GB' : language);
  return list.format(names.map((name) => `\`${name}\``));
}

/**
 * Adds to the schema of a listed event which fields `data` has, by type: those of webhooks. They
 * are conditions, so the event stays one object to generators of clients, and other types are
 * allowed. No field is required: an event may be older than the field.
 */
export function withDataByType(event: oas31.SchemaObject): oas31.SchemaObject {
  const known = describeWebhooks().schemas;
  const chain = EVENT_TYPES.reduceRight<oas31.SchemaObject | null>((others, type) => {
    const data = known[componentOf(type)]?.properties?.['data'] as oas31.SchemaObject;
    return {
      if: {
        properties: { type: { const: type, description: `For \`${type}\`.` } },
        unevaluatedProperties: true,
      },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema, no promise
      then: {
        unevaluatedProperties: true,
        properties: {
          data: {
            type: 'object',
            properties: data.properties ?? {},
            unevaluatedProperties: true,
            description: EVENTS[type].trigger,
          },
        },
      },
      ...(others && { else: { unevaluatedProperties: true, ...others } }),
    };
  }, null);
  return { ...event, ...chain };
}

function envelopeOf(type: EventType): z.ZodType {
  return z
    .object({
      id: z
        .string()
        .regex(/^evt_/)
        .meta({ description: '`evt_` and more characters; the same in every attempt.' }),
      type: z.literal(type).meta({ description: 'The type of the event.' }),
      created_at: dateTime.meta({ description: 'When it happened.' }),
      api_version: z
        .string()
        .regex(/^\d{4}-\d\d$/)
        .meta({ description: 'Year and month: the version of the endpoint that receives it.' }),
      tenant_id: z.string().meta({ description: 'The team.' }),
      test: z
        .literal(true)
        .optional()
        .meta({
          description:
            'Only in a test: an example, which did not happen. Its ids belong to nothing. See ' +
            '`POST /webhook-endpoints/{endpoint_id}/test`.',
        }),
      data: EVENTS[type].data.meta({ description: 'What happened to which thing.' }),
    })
    .meta({ description: EVENTS[type].trigger });
}

function operationOf(type: EventType, envelope: z.ZodType): ZodOpenApiOperationObject {
  return {
    operationId: `on${componentOf(type)}`,
    summary: type,
    description: `${EVENTS[type].trigger}\n\n${describeDelivery(type)}`,
    tags: ['Events'],
    // Deliveries carry a signature instead of a key.
    security: [],
    requestParams: { header: HEADERS },
    requestBody: {
      required: true,
      content: { 'application/json': { schema: envelope, example: eventExample(type) } },
    },
    responses: {
      '2XX': {
        description:
          'Received. Any other status, a redirect included, is a failure and is repeated after ' +
          '1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h.',
      },
    },
  };
}
