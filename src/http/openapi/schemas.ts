import type { oas31 } from 'zod-openapi';

type Schema = oas31.SchemaObject | oas31.ReferenceObject;
type Schemas = Record<string, oas31.SchemaObject>;

/** The JSON Schema keywords under which zod puts one schema or a list of them. */
const ONE = ['items', 'additionalProperties', 'propertyNames', 'not'] as const;
const LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;

/**
 * Tidies a schema of zod for readers and code generators: removes bounds that only say "a safe
 * integer" and a pattern beside a format that says the same, and writes a nullable type as a type
 * array instead of a choice between two schemas.
 */
export function tidySchema(schema: Schema): oas31.SchemaObject {
  return mapSchema(schema as oas31.SchemaObject, (one) => mergeNull(withoutNoise(one)));
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

function withoutNoise(schema: oas31.SchemaObject): oas31.SchemaObject {
  const { minimum, maximum, pattern, ...rest } = schema;
  return {
    ...rest,
    ...(minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? {} : { minimum }),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
    ...(pattern === undefined || rest.format !== undefined ? {} : { pattern }),
  };
}

/**
 * `anyOf: [X, null]` → X with a type array. A reference stays a choice: its type cannot be changed
 * beside it.
 */
function mergeNull(schema: oas31.SchemaObject): oas31.SchemaObject {
  const { anyOf, ...rest } = schema;
  const [other, none, ...more] = (anyOf ?? []) as oas31.SchemaObject[];
  if (other?.type === undefined || none?.type !== 'null' || more.length > 0) return schema;
  const values: unknown[] | undefined = other.enum;
  return {
    ...other,
    ...rest,
    type: [other.type, 'null'].flat() as 'null'[],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
}
