// Valid inputs of procedures that have no example in their declaration.
import { z } from 'zod';
import { EXISTING_IDS } from './requests.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Returns a valid value of the shape. Fields whose name tells the kind of id get ids of team a. */
export function sampleOf(shape: z.ZodType): unknown {
  const root = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  const resolve = (schema: JsonSchema): JsonSchema =>
    schema.$ref === undefined ? schema : (root.$defs?.[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const sample = (given: JsonSchema, name: string): unknown => {
    const schema = resolve(given);
    const { examples, enum: values, anyOf, oneOf } = schema;
    const [first] = values ?? [];
    if (schema.const !== undefined || first !== undefined) return schema.const ?? first;
    if (name in EXISTING_IDS) return EXISTING_IDS[name]?.('a');
    const choice = anyOf?.[0] ?? oneOf?.[0];
    if (choice) return sample(choice as JsonSchema, name);
    if (Array.isArray(examples) && examples.length > 0) return examples[0];
    return sampleOfType(schema, sample, name);
  };
  const required = sample(root, '') as Record<string, unknown>;
  if (shape.safeParse(required).success) return required;
  // A rule over several fields, none of which is required on its own.
  const candidates = Object.entries(root.properties ?? {}).map(([name, value]) => ({
    ...required,
    [name]: sample(value as JsonSchema, name),
  }));
  return candidates.find((candidate) => shape.safeParse(candidate).success) ?? required;
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-11-02T09:15:00.000Z',
  date: '2026-11-02',
  email: 'somebody@a.test',
  uri: 'https://example.com/hook',
};

function sampleOfType(
  { type, format, minLength, minimum, minItems, items, properties, required }: JsonSchema,
  sample: (schema: JsonSchema, name: string) => unknown,
  name: string,
): unknown {
  // zod describes a nullable number with a list of types.
  switch (Array.isArray(type) ? (type as string[])[0] : type) {
    case 'string':
      return FORMATS[format ?? name] ?? 'x'.repeat(Math.max(1, minLength ?? 1));
    case 'integer':
    case 'number':
    case undefined:
      return minimum ?? 1;
    case 'boolean':
      return true;
    case 'array':
      // The entries of `member_ids` are what `member_id` is.
      return Array.from({ length: minItems ?? 0 }, () =>
        sample(items as JsonSchema, name.replace(/s$/, '')),
      );
    default:
      return Object.fromEntries(
        Object.entries(properties ?? {})
          .filter(([key]) => required?.includes(key))
          .map(([key, value]) => [key, sample(value as JsonSchema, key)]),
      );
  }
}
