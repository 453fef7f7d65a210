/** The types of Python: an annotation for each schema, and a TypedDict for each object. */
import { docstring, isIdentifier, literal, nameOfRef, toClassName, type Schema } from './schema.ts';

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
  return JSON.stringify(value);
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
  const about = description === '' ? '' : `${docstring([description], '    ')}\n`;
  // A class cannot have a field that is no name in Python; the other form can.
  const text = fields.every(({ field }) => isIdentifier(field))
    ? `class ${name}(TypedDict):\n${about}${fields.map(fieldOfClass).join('')}`
    : `${name} = TypedDict(\n    ${literal(name)},\n    {\n${fields
        .map(({ field, annotation }) => `        ${literal(field)}: ${literal(annotation)},\n`)
        .join('')}    },\n)\n`;
  const known = definitions.get(name);
  if (known !== undefined && known !== text) throw new Error(`two models are called ${name}`);
  definitions.set(name, text);
}

function fieldOfClass({ field, annotation, about }: Record<string, string>): string {
  const text = about ? docstring([about], '    ') : '';
  return `    ${field}: ${annotation}\n${text}`;
}
