/** The models of the Python client: a TypedDict for each object of the document. */
import type { oas31 } from 'zod-openapi';
import {
  docstring,
  isIdentifier,
  literal,
  nameOfRef,
  schemasOf,
  toClassName,
  type Schema,
  type Schemas,
} from './schema.ts';

/** What callers send may be any sequence or mapping, and a datetime; what they get is JSON. */
export type Direction = 'sent' | 'received';

/** Takes the definitions of the objects that an annotation names. */
export type Definitions = Map<string, string>;

/** Returns the annotation of a schema. `name` is that of the object that it may describe. */
export function annotationOf(schema: Schema, { name, direction, definitions }: Place): string {
  const place = { name, direction, definitions };
  if (schema.$ref !== undefined) return nameOfRef(schema.$ref);
  if (schema.const !== undefined) return `Literal[${literalOf(schema.const)}]`;
  if (schema.enum !== undefined) return `Literal[${schema.enum.map(literalOf).join(', ')}]`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((choice) => annotationOf(choice, place)));
  if (typeof schema.type === 'object')
    return union(schema.type.map((type) => annotationOf({ ...schema, type }, place)));
  return annotationOfType(schema, place);
}

interface Place {
  readonly name: string;
  readonly direction: Direction;
  readonly definitions: Definitions;
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};
const MOMENTS: Readonly<Record<string, string>> = { 'date-time': 'datetime', date: 'date' };

function annotationOfType(schema: Schema, { name, direction, definitions }: Place): string {
  const { type, format = '' } = schema;
  const isSent = direction === 'sent';
  if (type === undefined) return 'Any';
  if (type === 'string' && isSent && format in MOMENTS) return `str | ${MOMENTS[format]}`;
  if (type === 'array') {
    const item = annotationOf(schema.items ?? {}, { name: `${name}Entry`, direction, definitions });
    return `${isSent ? 'Sequence' : 'list'}[${item}]`;
  }
  if (type !== 'object') {
    const plain = PLAIN[String(type)];
    if (plain === undefined) throw new Error(`${name}: no Python type for ${String(type)}`);
    return plain;
  }
  if (schema.properties) {
    define(name, schema, direction, definitions);
    return name;
  }
  const { additionalProperties: more } = schema;
  const value =
    typeof more === 'object'
      ? annotationOf(more, { name: `${name}Value`, direction, definitions })
      : 'Any';
  return `${isSent ? 'Mapping' : 'dict'}[str, ${value}]`;
}

function literalOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return 'None';
  return literal(String(value));
}

/** Known texts beside any text stay visible in editors: type checkers do not merge them. */
function union(annotations: readonly string[]): string {
  return [...new Set(annotations.flatMap(membersOf))].toSorted(noneLast).join(' | ');
}

/** The members of a union, but not those of one within brackets. */
function membersOf(annotation: string): string[] {
  let depth = 0;
  return annotation.split(' | ').reduce<string[]>((members, part) => {
    const last = members.length - 1;
    if (depth > 0) members[last] = `${members[last]} | ${part}`;
    else members.push(part);
    depth += part.split('[').length - part.split(']').length;
    return members;
  }, []);
}

function noneLast(a: string, b: string): number {
  return Number(a === 'None') - Number(b === 'None');
}

function define(
  name: string,
  schema: Schema,
  direction: Direction,
  definitions: Definitions,
): void {
  const { properties = {}, required = [], description = '' } = schema;
  const fields = Object.entries(properties).map(([field, of]) => {
    const part = { name: name + toClassName(field), direction, definitions };
    const type = annotationOf(of, part);
    const annotation = required.includes(field) ? type : `NotRequired[${type}]`;
    return { field, annotation, about: of.description ?? '' };
  });
  // A class cannot have a field that is no name in Python; this form can.
  const isClass = fields.every(({ field }) => isIdentifier(field));
  const text = isClass
    ? `class ${name}(TypedDict):\n${description ? `${docstring([description], '    ')}\n` : ''}${fields
        .map(
          ({ field, annotation, about }) =>
            `    ${field}: ${annotation}\n${about ? docstring([about], '    ') : ''}`,
        )
        .join('')}`
    : `${name} = TypedDict(\n    ${literal(name)},\n    {\n${fields
        .map(({ field, annotation }) => `        ${literal(field)}: ${literal(annotation)},\n`)
        .join('')}    },\n)\n`;
  const known = definitions.get(name);
  if (known !== undefined && known !== text) throw new Error(`two models are called ${name}`);
  definitions.set(name, text);
}

/** Returns the text of models.py. `definitions` may hold more, as those of inline bodies. */
export function modelsModule(document: oas31.OpenAPIObject, definitions: Definitions): string {
  const schemas = schemasOf(document);
  const sent = namesSent(document);
  const aliases: string[] = [];
  for (const [name, schema] of Object.entries(schemas)) {
    const direction = sent.has(name) ? 'sent' : 'received';
    const annotation = annotationOf(schema, { name, direction, definitions });
    if (annotation !== name) aliases.push(`${name}: TypeAlias = ${literal(annotation)}\n`);
  }
  const events = eventNames(document, schemas);
  const union = `WebhookEvent: TypeAlias = Union[\n${events.map((one) => `    ${one},\n`).join('')}]
"""What a delivery holds. Its \`type\` says what \`data\` is. Later versions may add types."""
`;
  const body = [...definitions.values(), ...aliases, union].join('\n\n');
  const moments = Object.values(MOMENTS).filter((one) => body.includes(`str | ${one}`));
  const names = [...definitions.keys(), ...aliases.map((one) => one.split(':')[0] ?? '')];
  return `"""The objects of the API: plain dicts, described for editors and type checkers.

Texts with known values accept others, too: later versions may add values and fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
${moments.length > 0 ? `from datetime import ${moments.toSorted().join(', ')}\n` : ''}from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, Union

__all__ = [
${[...names, 'WebhookEvent']
  .toSorted()
  .map((name) => `    ${literal(name)},\n`)
  .join('')}]


${body}`;
}

/** The schemas of bodies that callers send, with those that they refer to. */
function namesSent(document: oas31.OpenAPIObject): ReadonlySet<string> {
  const refsIn = (value: unknown): string[] =>
    [...JSON.stringify(value ?? null).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name = '']) => name,
    );
  const operations = Object.values(document.paths ?? {}).flatMap((item) =>
    Object.values(item as Record<string, oas31.OperationObject>),
  );
  const reach = (names: readonly string[]): Set<string> => {
    const reached = new Set(names);
    for (const name of reached)
      for (const more of refsIn(schemasOf(document)[name])) reached.add(more);
    return reached;
  };
  const sent = reach(operations.flatMap(({ requestBody }) => refsIn(requestBody)));
  const received = reach(operations.flatMap(({ responses }) => refsIn(responses)));
  return new Set([...sent].filter((name) => !received.has(name)));
}

function eventNames({ webhooks = {} }: oas31.OpenAPIObject, schemas: Schemas): string[] {
  const found = JSON.stringify(webhooks).matchAll(/#\/components\/schemas\/(\w+Event)"/g);
  return [...new Set([...found].map(([, name = '']) => name))].filter((name) => name in schemas);
}
