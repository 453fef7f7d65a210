/** The events of the OpenAPI document, in the form that pages need. */
import type { oas31 } from 'zod-openapi';
import { EVENT_TYPES, EVENTS, isEventType } from '../../core/events.ts';
import type { Language } from '../../core/language.ts';
import { describeDelivery } from '../../http/openapi/webhooks.ts';
import { briefly, codeBlock, heading, repeated, type Block } from '../block.ts';
import type { Page, Site } from '../page.ts';
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

const ENGLISH = {
  title: 'Event catalogue',
  description: 'Each event: when it is raised, its payload, what the privacy switches withhold.',
};

const INTRODUCTIONS: Readonly<Record<Language, string>> = {
  en: `
The body of a delivery is an envelope with the same fields for every event, and \`data\`, which
depends on the type. [Webhooks](/docs/webhooks) explains how to receive and verify them.
`.trim(),
  de: `
Der Body einer Zustellung besteht aus einem Umschlag, der bei jedem Ereignis dieselben Felder hat,
und aus \`data\`, das vom Typ abhängt. Wie Sie Zustellungen empfangen und prüfen, erklärt
[Webhooks](/docs/webhooks).
`.trim(),
};

/** For who reads all pages at once. */
const RECIPIENTS =
  'Each event is sent to every active endpoint that subscribes to it, unless it says otherwise.';

/** The catalogue of all events. The id of each is its type, such as `ping`. */
export function eventsPage(site: Site, texts = ENGLISH): Page {
  const introduction = INTRODUCTIONS[site.language];
  return {
    ...texts,
    path: site.pathOf('/docs/events'),
    content: () => [
      briefly(site.markdown.block(introduction), `${introduction} ${RECIPIENTS}`),
      heading(2, WORDS[site.language].envelope, 'envelope'),
      envelope(site),
      ...EVENT_TYPES.flatMap((type) => describeEvent(site, type)),
    ],
  };
}

function envelope(site: Site): Block {
  const { envelope: schema } = readEvent(site, 'ping');
  const fields = fieldsOf(schema, false).filter(({ name }) => name !== 'data');
  return fieldList(site, 'envelope', translated(site, fields));
}

function describeEvent(site: Site, type: string): Block[] {
  if (!isEventType(type)) return [];
  const { data, example } = readEvent(site, type);
  const { language } = site;
  const { trigger } = EVENTS[type];
  const raised = language === 'de' ? inGerman(trigger) : trigger;
  return [
    heading(2, type, type),
    // The fields say what is withheld.
    briefly(
      site.markdown.block(`${raised} ${describeDelivery(type, language)}`),
      EVENTS[type].subscribable ? raised : `${raised} ${describeDelivery(type, language)}`,
    ),
    fieldList(site, type, translated(site, fieldsOf(data, false))),
    // The fields have examples, and the guide shows a whole body.
    ...repeated([codeBlock(WORDS[language].body, jsonText(example), 'json')]),
  ];
}

function translated({ document, language }: Site, fields: readonly Field[]): readonly Field[] {
  if (language === 'en') return fields;
  return fields.map((field) => {
    const { description } = resolve<oas31.SchemaObject>(document, field.schema);
    return { ...field, description: description === undefined ? '' : inGerman(description) };
  });
}
