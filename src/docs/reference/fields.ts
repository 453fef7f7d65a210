/** Lists of parameters and fields, from JSON Schema. */
import type { oas31 } from 'zod-openapi';
import { container } from '../markdown.ts';
import type { Site } from '../page.ts';
import { WORDS, type FieldWords } from '../words.ts';
import { nameOfRef, objectNames, resolve } from './operations.ts';

type Schema = oas31.SchemaObject;

/** A field as a page shows it. */
export interface Field {
  readonly name: string;
  readonly schema: Schema | oas31.ReferenceObject;
  /** null: the question does not arise, as for the fields of a response. */
  readonly required: boolean | null;
  /** If it is not the description of the schema. */
  readonly description?: string;
  /** Whether the caller sends it, in a query or a body. */
  readonly isSent?: boolean;
  /** Whether it is part of a body that the caller writes. */
  readonly isWritten?: boolean;
}

/** The fields of an object. Each of one that the caller writes says whether it must be sent. */
export function fieldsOf(schema: Schema, isWritten: boolean): Field[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, one]) => ({
    name,
    schema: one as Schema,
    required: isWritten || !required.has(name) ? required.has(name) : null,
    isSent: isWritten,
    isWritten,
  }));
}

/**
 * A list of fields. The id of each is `<place>-<name>`, for instance `body-title`, and links to it
 * stay valid.
 */
export function fieldList(site: Site, place: string, fields: readonly Field[]): string {
  const sent = fields.some(({ isSent }) => isSent) ? ' sent' : '';
  const lines = fields.map((field) => fieldLine(site, field, ''));
  return container(`fields ${place}${sent}`, lines.join('\n'));
}

function fieldLine(site: Site, field: Field, indent: string): string {
  const schema = resolve<Schema>(site.document, field.schema);
  const words = WORDS[site.language].fields;
  const { required } = field;
  const requirement = required === null ? '' : words[required ? 'required' : 'optional'];
  const about = [typeText(field.schema, words), requirement].filter((fact) => fact !== '');
  const text = describe(schema, field, words).replaceAll(/\s+/g, ' ').trim();
  const start = `${indent}- \`${field.name}\` (${about.join(', ')})`;
  const line = text === '' ? start : `${start}: ${text}`;
  const children = childrenOf(site, field);
  return [line, ...children.map((child) => fieldLine(site, child, `${indent}  `))].join('\n');
}

/** The description with what else the schema says: values, bounds, default, example. */
function describe(schema: Schema, field: Field, words: FieldWords): string {
  const base = field.description ?? schema.description ?? '';
  const [example] = (schema.examples ?? []) as unknown[];
  const isShort = example !== undefined && JSON.stringify(example).length < 45;
  const values = knownValues(schema, base, words);
  // Bounds mean something to who writes a value: not to who reads it, and ids are copied.
  const isOwnText = field.isWritten === true && !/(?:^|_)id$/.test(field.name);
  const hasBounds = isOwnText && !base.includes(' characters');
  const facts = [
    values,
    hasBounds ? boundsOf(schema) : null,
    schema.default === undefined || emptyArray(schema.default)
      ? null
      : `${words.default}: \`${JSON.stringify(schema.default)}\`.`,
    isShort && values === null
      ? `${words.example}: \`${typeof example === 'string' ? example : JSON.stringify(example)}\`.`
      : null,
  ].filter((fact) => fact !== null);
  return [base, facts.join(' ')].filter((text) => text !== '').join(' ');
}

/** The values that the schema knows, unless the description names them all. */
function knownValues(schema: Schema, description: string, words: FieldWords): string | null {
  const items = schema.items as Schema | undefined;
  const choices = (schema.anyOf ?? items?.anyOf ?? []) as Schema[];
  const known = [schema, ...choices].flatMap((one) => (one.enum ?? []) as (string | null)[]);
  const values = known.filter((value) => value !== null).map((value) => `\`${value}\``);
  if (values.every((value) => description.includes(value))) return null;
  const isOpen = choices.length > 0;
  return `${isOpen ? words.knownValues : words.values}: ${values.join(', ')}.`;
}

function emptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Other bounds are in the descriptions, and the form of a date needs none. */
function boundsOf({ minLength, maxLength, minimum, maximum, format }: Schema): string | null {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}.`;
  return maxLength === undefined || format?.startsWith('date')
    ? null
    : `${minLength ?? 0} to ${maxLength} characters.`;
}

/** The fields of an object, or of those in an array. None for objects with a page of their own. */
function childrenOf(site: Site, { schema: one, isWritten = false }: Field): Field[] {
  const { items, anyOf } = one as Schema;
  const [object = one] = [items, ...(anyOf ?? [])].filter((part) => part !== undefined);
  const name = nameOfRef(object);
  if (name !== null && hasPage(site, name)) return [];
  return fieldsOf(resolve<Schema>(site.document, object), isWritten);
}

/** Whether an object has a page of its own. Those that only callers send have none. */
function hasPage({ reference }: Site, name: string): boolean {
  return objectNames(reference).includes(name);
}

/** `string or null`, `array of Assignment`. */
function typeText(one: Schema | oas31.ReferenceObject, words: FieldWords): string {
  const name = nameOfRef(one);
  if (name !== null) return name;
  const schema = one as Schema;
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  const or = ` ${words.or} `;
  if (choices !== undefined)
    return [...new Set(choices.map((choice) => typeText(choice, words)))].join(or);
  const types = [schema.type ?? 'any'].flat().map((type) => {
    if (type === 'array') return `array of ${typeText((schema.items ?? {}) as Schema, words)}`;
    return type === 'string' && schema.format !== undefined ? schema.format : type;
  });
  return types.join(or);
}
