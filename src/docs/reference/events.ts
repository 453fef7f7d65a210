/** The events of the OpenAPI document, in the form that pages need. */
import type { oas31 } from 'zod-openapi';
import { EVENT_TYPES, EVENTS, type EventType } from '../../core/events.ts';
import { describeDelivery } from '../../http/openapi/webhooks.ts';
import { container, fence, joined } from '../markdown.ts';
import type { Site } from '../page.ts';
import { jsonText } from '../samples/literals.ts';
import { WORDS } from '../words.ts';
import { fieldList, fieldsOf, type Field } from './fields.ts';
import { inGerman } from './german-events.ts';
import { resolve } from './operations.ts';

interface DescribedEvent {
  /** Those of every delivery. */
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
    headers: (operation.parameters ?? []).flatMap((parameter) => {
      const { name, required, example } = resolve<oas31.ParameterObject>(document, parameter);
      return required === true ? [{ name, example: example as unknown }] : [];
    }),
    data: resolve(document, (envelope.properties?.['data'] ?? {}) as oas31.SchemaObject),
    example: media.example as Record<string, unknown>,
    envelope,
  };
}

/** For who reads all pages at once. */
const RECIPIENTS =
  'Each event is sent to every active endpoint that subscribes to it, unless it says otherwise.';

/** The catalogue of all events. The id of each is its type, such as `ping`. */
export function eventCatalogue(site: Site): string {
  const { envelope } = readEvent(site, 'ping');
  const fields = fieldsOf(envelope, false).filter(({ name }) => name !== 'data');
  return joined(
    container('only all', RECIPIENTS),
    `## ${WORDS[site.language].envelope} {#envelope}`,
    fieldList(site, 'envelope', translated(site, fields)),
    ...EVENT_TYPES.map((type) => describeEvent(site, type)),
  );
}

function describeEvent(site: Site, type: EventType): string {
  const { data, example } = readEvent(site, type);
  const { language } = site;
  const { trigger, subscribable } = EVENTS[type];
  const raised = language === 'de' ? inGerman(trigger) : trigger;
  const whole = `${raised} ${describeDelivery(type, language)}`;
  return joined(
    `## ${type} {#${type}}`,
    container('only page twin', whole),
    // The fields say what is withheld.
    container('only all', subscribable ? raised : whole),
    fieldList(site, type, translated(site, fieldsOf(data, false))),
    // The fields have examples, and the guide shows a whole body.
    container('only page twin', fence(jsonText(example), 'json', WORDS[language].body)),
  );
}

function translated({ document, language }: Site, fields: readonly Field[]): readonly Field[] {
  if (language === 'en') return fields;
  return fields.map((field) => {
    const { description } = resolve<oas31.SchemaObject>(document, field.schema);
    return { ...field, description: description === undefined ? '' : inGerman(description) };
  });
}
