// Everything that a caller may send has a maximum: a list, a text, a set of fields.
import type { AnyProcedure } from '@trpc/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { knownText } from '../../src/core/shapes.ts';
import { CREATE_NAME, createInput } from '../../src/features/assignments/schema.ts';
import { appRouter } from '../../src/routers/routers.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Every input of the tRPC API, and so of the REST API: each operation is a procedure. */
const INPUTS = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).flatMap(([name, { _def }]) =>
  ((_def as unknown as { inputs?: z.ZodType[] }).inputs ?? []).map((input) => ({ name, input })),
);

/** What the document names, and an operation checks itself. */
const CHECKED_LATER: Readonly<Record<string, z.ZodType>> = { [CREATE_NAME]: createInput };

/** Returns the places of a shape that have no maximum. */
function findUnbounded(shape: z.ZodType): string[] {
  const root = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  const resolve = (schema: JsonSchema): JsonSchema => {
    const name = schema.$ref?.split('/').at(-1);
    if (name === undefined) return schema;
    const later = CHECKED_LATER[name];
    return later ? z.toJSONSchema(later, { io: 'input' }) : (root.$defs?.[name] ?? {});
  };
  const walk = (given: JsonSchema | boolean, path: string): string[] => {
    if (typeof given === 'boolean') return given ? [path] : [];
    const schema = resolve(given);
    if (schema.const !== undefined || schema.enum !== undefined || 'x-max-bytes' in schema)
      return [];
    const choices = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? []);
    // What stands beside the choices holds for each of them.
    const { maxLength } = schema;
    const beside = maxLength === undefined ? {} : { maxLength };
    if (choices.length > 0)
      return choices.flatMap((choice) =>
        walk(typeof choice === 'boolean' ? choice : { ...beside, ...choice }, path),
      );
    const types = [schema.type ?? []].flat() as string[];
    const own = isUnbounded(schema, types) ? [path] : [];
    const fields = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      walk(field, `${path}.${name}`),
    );
    const items = types.includes('array')
      ? walk((schema.items ?? true) as JsonSchema, `${path}[]`)
      : [];
    return [...own, ...fields, ...items];
  };
  return walk(root, 'input');
}

function isUnbounded(schema: JsonSchema, types: readonly string[]): boolean {
  if (types.length === 0) return true;
  if (types.includes('string') && schema.maxLength === undefined) return true;
  if (types.includes('array') && schema.maxItems === undefined) return true;
  const isOpen = (schema.additionalProperties ?? false) !== false;
  return types.includes('object') && isOpen && schema.maxProperties === undefined;
}

describe('the input of', () => {
  it.each(INPUTS)('$name has a maximum everywhere', ({ input }) => {
    expect(findUnbounded(input)).toEqual([]);
  });
});

it.each<[string, z.ZodType]>([
  ['a text', z.object({ a: z.string() })],
  ['a date-time', z.object({ a: z.iso.datetime() })],
  ['a list', z.object({ a: z.array(z.boolean()) })],
  ['a text in a list', z.object({ a: z.array(z.string()).max(3) })],
  ['a text in a choice', z.object({ a: z.union([z.literal('x'), z.string()]) })],
  ['a text of which some values are known', z.object({ a: knownText(['x']) })],
  ['a set of fields', z.object({ a: z.record(z.string().max(3), z.int()) })],
  ['a free-form object', z.object({ a: z.looseObject({}) })],
  ['anything', z.object({ a: z.unknown() })],
  ['a text in a piped shape', z.object({ a: z.string().pipe(z.email().max(3)) })],
])('%s without a maximum is noticed', (_what, shape) => {
  expect(findUnbounded(shape)).toHaveLength(1);
});
