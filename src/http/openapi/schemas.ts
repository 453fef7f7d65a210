import type { oas31 } from 'zod-openapi';

type Schema = oas31.SchemaObject | oas31.ReferenceObject;
type Schemas = Record<string, oas31.SchemaObject>;

/** The JSON Schema keywords under which zod puts one schema or a list of them. */
const ONE = ['items', 'additionalProperties', 'propertyNames', 'not'] as const;
const LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;

/**
 * Tidies a schema of zod for readers and code generators: removes bounds that only say "a safe
 * integer", and what a format or the type of the names says already; gives integers a format;
 * writes known values as a choice between them and any text, and a nullable type as a type array
 * instead of a choice between two schemas.
 */
export function tidySchema(schema: Schema): oas31.SchemaObject {
  return mapSchema(schema as oas31.SchemaObject, (one) => mergeNull(openValues(withoutNoise(one))));
}

/**
 * Opens all objects for new fields: v1 may add some, and clients that are generated from the
 * document must not refuse them.
 */
export function openObjects(schema: oas31.SchemaObject): oas31.SchemaObject {
  return mapSchema(schema, ({ additionalProperties, ...rest }) =>
    additionalProperties === undefined || additionalProperties === false
      ? rest
      : { ...rest, additionalProperties },
  );
}

/** Closes all objects with named fields, so that a test refuses an undocumented field. */
export function closeObjects(schema: oas31.SchemaObject): oas31.SchemaObject {
  return mapSchema(schema, (one) =>
    one.properties === undefined ? one : { additionalProperties: false, ...one },
  );
}

/** A reference to a component. */
export function refTo(
  kind: 'schemas' | 'parameters' | 'headers' | 'examples',
  name: string,
): oas31.ReferenceObject {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Returns the map with every value changed. */
export function mapValues<T, U>(
  map: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name, change(value, name)]),
  );
}

/** Applies `change` to the schema and to every schema in it, the innermost first. */
function mapSchema(
  schema: oas31.SchemaObject,
  change: (schema: oas31.SchemaObject) => oas31.SchemaObject,
): oas31.SchemaObject {
  const inner = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? mapSchema(value as oas31.SchemaObject, change)
      : value;
  const mapped: Record<string, unknown> = { ...schema };
  for (const key of ONE) if (key in mapped) mapped[key] = inner(mapped[key]);
  for (const key of LIST) if (key in mapped) mapped[key] = (mapped[key] as unknown[]).map(inner);
  if (schema.properties !== undefined)
    mapped['properties'] = mapValues(schema.properties as Schemas, inner);
  return change(mapped as oas31.SchemaObject);
}

/** All integers are stored as four bytes, or within bounds that are smaller. */
function withoutNoise(schema: oas31.SchemaObject): oas31.SchemaObject {
  const { minimum, maximum, pattern, propertyNames: _names, ...rest } = schema;
  return {
    ...rest,
    ...(rest.type === 'integer' ? { format: 'int32' } : {}),
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
    ...(pattern === undefined || rest.format !== undefined ? {} : { pattern }),
  };
}

/** Moves what holds for any text to the second choice of `knownText` (core/shapes.ts). */
function openValues(schema: oas31.SchemaObject): oas31.SchemaObject {
  const { type, minLength, maxLength, ...rest } = schema;
  if (type !== 'string' || rest.anyOf === undefined) return schema;
  const text = {
    type,
    ...(minLength === undefined ? {} : { minLength }),
    ...(maxLength === undefined ? {} : { maxLength }),
  };
  return { ...rest, anyOf: [...rest.anyOf.slice(0, 1), text] };
}

/**
 * `anyOf: [X, null]` → X with a type array, in its last choice if X is a choice itself. A reference
 * stays a choice: its type cannot be changed beside it.
 */
function mergeNull(schema: oas31.SchemaObject): oas31.SchemaObject {
  const { anyOf, ...rest } = schema;
  const [other, none, ...more] = (anyOf ?? []) as oas31.SchemaObject[];
  if (other === undefined || none?.type !== 'null' || more.length > 0) return schema;
  if (other.anyOf !== undefined) {
    const last = mergeNull({ anyOf: [...other.anyOf.slice(-1), none] });
    return { ...other, ...rest, anyOf: [...other.anyOf.slice(0, -1), last] };
  }
  if (other.type === undefined) return schema;
  const values: unknown[] | undefined = other.enum;
  return {
    ...other,
    ...rest,
    type: [other.type, 'null'].flat() as 'null'[],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
}
