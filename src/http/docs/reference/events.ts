/** The events of the OpenAPI document, in the form that pages need. */
import type { oas31 } from 'zod-openapi';
import { EVENT_TYPES, EVENTS, isEventType } from '../../../core/events.ts';
import { describeDelivery } from '../../openapi/webhooks.ts';
import { codeBlock, heading, repeated, type Block } from '../block.ts';
import type { Page, Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { fieldList, fieldsOf } from './fields.ts';
import { resolve } from './operations.ts';

interface DescribedEvent {
  readonly headers: readonly { readonly name: string; readonly example: unknown }[];
  /** The schema of `data`. */
  readonly data: oas31.SchemaObject;
  /** An example of the body. */
  readonly example: Readonly<Record<string, unknown>>;
  /** The schema of the body. */
  readonly envelope: oas31.SchemaObject;
}

/** Throws if the document has no such event. */
export function readEvent({ document }: Site, type: string): DescribedEvent {
  const operation = (document.webhooks?.[type] as oas31.PathItemObject | undefined)?.post;
  const body = operation?.requestBody as oas31.RequestBodyObject | undefined;
  const media = body?.content['application/json'];
  if (!operation || !media?.schema) throw new Error(`The document has no event ${type}.`);
  const envelope = resolve<oas31.SchemaObject>(document, media.schema);
  return {
    headers: (operation.parameters ?? []).map((parameter) => {
      const { name, example } = resolve<oas31.ParameterObject>(document, parameter);
      return { name, example: example as unknown };
    }),
    data: resolve(document, (envelope.properties?.['data'] ?? {}) as oas31.SchemaObject),
    example: media.example as Record<string, unknown>,
    envelope,
  };
}

const INTRODUCTION = `
The body of a delivery is an envelope with the same fields for every event, and \`data\`, which
depends on the type. [Webhooks](/docs/webhooks) explains how to receive and verify them.
`.trim();

/** The catalogue of all events. The id of each is its type, such as \`ping\`. */
export function eventsPage(site: Site): Page {
  return {
    path: '/docs/events',
    title: 'Event catalogue',
    description: 'Each event: when it is raised, its payload, what the privacy switches withhold.',
    content: () => [
      site.markdown.block(INTRODUCTION),
      heading(2, 'Envelope', 'envelope'),
      envelope(site),
      ...EVENT_TYPES.flatMap((type) => describeEvent(site, type)),
    ],
  };
}

function envelope(site: Site): Block {
  const { envelope: schema } = readEvent(site, 'ping');
  const fields = fieldsOf(schema, false).filter(({ name }) => name !== 'data');
  return fieldList(site, 'envelope', fields);
}

function describeEvent(site: Site, type: string): Block[] {
  if (!isEventType(type)) return [];
  const { data, example } = readEvent(site, type);
  return [
    heading(2, type, type),
    site.markdown.block(`${EVENTS[type].trigger} ${describeDelivery(type)}`),
    fieldList(site, type, fieldsOf(data, false)),
    // The fields have examples, and the guide shows a whole body.
    ...repeated([codeBlock('Body', jsonText(example), 'json')]),
  ];
}
