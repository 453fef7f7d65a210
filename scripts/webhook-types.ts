import { z } from 'zod';
import { EVENT_TYPES, EVENTS, type EventType } from '../src/core/events.ts';

const START = '// Written by `npm run webhook-types` from core/events.ts. Do not edit.\n';
const END = '// End of the written part.\n';

/**
 * Returns `source`, the text of src/client/webhook-delivery.ts, with its event types written
 * anew from core/events.ts.
 */
export function withEventTypes(source: string): string {
  const start = source.indexOf(START);
  const end = source.indexOf(END);
  if (start < 0 || end < start) throw new Error('The marks around the event types are missing.');
  return `${source.slice(0, start)}${START}\n${describeTypes()}\n${source.slice(end)}`;
}

function describeTypes(): string {
  return `/**
 * The fields of \`data\`, by event type. A later version of the API may add fields and types, but
 * does not remove any.
 */
export interface WebhookEventData {
${EVENT_TYPES.map(describeType).join('')}}
`;
}

function describeType(type: EventType): string {
  const { trigger, data } = EVENTS[type];
  const schema = z.toJSONSchema(data, { io: 'output' });
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    if (typeof field === 'boolean') throw new Error(`The field ${name} has no type.`);
    const mark = schema.required?.includes(name) ? '' : '?';
    return `${comment(field.description, '    ')}    ${name}${mark}: ${typeOf(field)};\n`;
  });
  const key = /^\w+$/.test(type) ? type : `'${type}'`;
  return `${comment(trigger, '  ')}  ${key}: {\n${fields.join('')}  };\n`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/**
 * Event data is flat, so a field is a union of these types or of literals. `string & {}` keeps the
 * literals beside it visible to editors.
 */
function typeOf(field: z.core.JSONSchema.BaseSchema): string {
  const known = field.type === 'string' ? field.anyOf?.[0]?.enum : undefined;
  if (known) return `${literals(known)} | (string & {})`;
  if (field.enum) return literals(field.enum);
  if (field.anyOf) return field.anyOf.map(typeOf).join(' | ');
  return [field.type]
    .flat()
    .map((type) => requireType(type, field))
    .join(' | ');
}

function literals(values: readonly unknown[]): string {
  return values.map((value) => `'${String(value)}'`).join(' | ');
}

function requireType(type: string | undefined, field: object): string {
  const known = TYPES[type ?? ''];
  if (known === undefined) throw new Error(`No TypeScript type for ${JSON.stringify(field)}.`);
  return known;
}

const MAX_COLUMNS = 100;

function comment(text: string | undefined, indent: string): string {
  if (text === undefined) return '';
  const line = `${indent}/** ${text} */\n`;
  if (line.length <= MAX_COLUMNS + 1) return line;
  const lines = wrap(text, MAX_COLUMNS - indent.length - ' * '.length);
  return `${indent}/**\n${lines.map((part) => `${indent} * ${part}\n`).join('')}${indent} */\n`;
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const isFull = last === undefined || last.length + 1 + word.length > columns;
    if (isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
