/** Lists of parameters and fields, from JSON Schema. */
import type { oas31 } from 'zod-openapi';
import { block, type Block } from '../block.ts';
import { html, type Html } from '../html.ts';
import type { Site } from '../page.ts';
import { WORDS, type FieldWords } from '../words.ts';
import { nameOfRef, objectNames, resolve } from './operations.ts';
import { pathOfObject } from './paths.ts';

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
export function fieldList(site: Site, place: string, fields: readonly Field[]): Block {
  return block(
    () => html`<dl class="fields">${fields.map((field) => fieldHtml(site, place, field))}</dl>`,
    ({ hasAllPages = false }) => fieldsText(site, fields, hasAllPages),
  );
}

/** The list as Markdown. `isBrief`: as `CONVENTIONS` say, without examples. */
export function fieldsText(site: Site, fields: readonly Field[], isBrief: boolean): string {
  return fields.map((field) => fieldMarkdown(site, field, { indent: '', isBrief })).join('\n');
}

function fieldHtml(site: Site, place: string, field: Field): Html {
  const schema = resolve<Schema>(site.document, field.schema);
  const id = `${place}-${field.name}`;
  const words = WORDS[site.language].fields;
  const text = describe(schema, field, { words });
  const children = childrenOf(site, field);
  return html`<div>
    <dt id="${id}">
      <code>${field.name}</code> <span class="type">${typeHtml(site, field.schema)}</span>
      ${requirement(field, words)}
    </dt>
    <dd>
      ${text === '' ? null : site.markdown.html(text)}
      ${
        children.length === 0
          ? null
          : html`<dl class="fields">${children.map((child) => fieldHtml(site, id, child))}</dl>`
      }
    </dd>
  </div>`;
}

function fieldMarkdown(
  site: Site,
  field: Field,
  { indent, isBrief }: { readonly indent: string; readonly isBrief: boolean },
): string {
  const schema = resolve<Schema>(site.document, field.schema);
  const words = WORDS[site.language].fields;
  const type = typeText(field.schema, words);
  const required = requirement(field, words)?.html.replaceAll(/<[^>]*>/g, '') ?? '';
  const facts = isBrief ? [briefType(type), briefRequirement(field)] : [type, required];
  const about = facts.filter((fact) => fact !== '').join(', ');
  const text = describe(schema, field, { words, hasExamples: !isBrief })
    .replaceAll(/\s+/g, ' ')
    .trim();
  const name = `\`${field.name}\`${about === '' ? '' : ` (${about})`}`;
  const line = `${indent}- ${name}${text === '' ? '' : `: ${text}`}`;
  const children = childrenOf(site, field);
  const deeper = { indent: `${indent}  `, isBrief };
  return [line, ...children.map((child) => fieldMarkdown(site, child, deeper))].join('\n');
}

/** Most fields are strings. Two kinds of them, such as known values and others, are one type. */
function briefType(type: string): string {
  const names = type.split(' or ').filter((name) => name !== 'string');
  const others = names.filter((name) => name !== 'null');
  return others.join(' or ') + (names.includes('null') ? '?' : '');
}

/** What callers send is optional unless it says otherwise, what they get is always there. */
function briefRequirement({ required, isSent = false }: Field): string {
  if (isSent) return required === true ? 'required' : '';
  return required === false ? 'optional' : '';
}

function requirement({ required }: Field, words: FieldWords): Html | null {
  if (required === null) return null;
  return required
    ? html`<span class="required">${words.required}</span>`
    : html`<span class="optional">${words.optional}</span>`;
}

/** The description with what else the schema says: values, bounds, default, example. */
function describe(
  schema: Schema,
  field: Field,
  { words, hasExamples = true }: { readonly words: FieldWords; readonly hasExamples?: boolean },
): string {
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
    hasExamples && isShort && values === null
      ? `${words.example}: \`${typeof example === 'string' ? example : JSON.stringify(example)}\`.`
      : null,
  ].filter((fact) => fact !== null);
  return [base, facts.join(' ')].filter((text) => text !== '').join('\n\n');
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

/** `string or null`, `array of Assignment`, with links to the pages of objects. */
function typeHtml(site: Site, schema: Schema | oas31.ReferenceObject): Html {
  const name = nameOfRef(schema);
  if (name !== null && hasPage(site, name))
    return html`<a href="${site.prefix}${pathOfObject(name)}">${name}</a>`;
  const { items } = schema as Schema;
  const itemName = nameOfRef(items as object | undefined);
  if (itemName !== null && hasPage(site, itemName))
    return html`array of <a href="${site.prefix}${pathOfObject(itemName)}">${itemName}</a>`;
  return html`${typeText(schema, WORDS[site.language].fields)}`;
}

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
