// The example of src/seed/README.md must load, and the file that the tests load must use every
// field that there is.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { loadSeed } from '../../src/seed/load.ts';
import { seedFileSchema, type SeedFileInput } from '../../src/seed/schema.ts';
import { createTestDatabase } from '../support/database.ts';
import { APP_SECRET, fullFile } from './full-file.ts';

type JsonSchema = z.core.JSONSchema.JSONSchema;

const path = fileURLToPath(new URL('../../src/seed/example.json', import.meta.url));
const example = JSON.parse(readFileSync(path, 'utf8')) as SeedFileInput;

it('loads, and returns each key that it names', async () => {
  const database = await createTestDatabase();
  const { teams } = await loadSeed(database.url, example, {
    replace: false,
    appSecret: APP_SECRET,
  });
  expect(teams).toEqual({
    team_example: {
      api_keys: { full: expect.stringMatching(/^svck_live_/), office: expect.any(String) },
      webhook_endpoints: { whe_1: expect.stringMatching(/^whsec_/) },
    },
  });
  await database.drop();
});

it('has a full file beside it, which uses every field of the shape', () => {
  const shape = z.toJSONSchema(seedFileSchema, { io: 'input', unrepresentable: 'any' });
  expect(missingFields(shape, [fullFile()], '$')).toEqual([]);
});

/** Returns the paths of the fields that none of the values has. */
function missingFields(schema: JsonSchema, values: readonly unknown[], at: string): string[] {
  const choices = [schema, ...((schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[])];
  const items = choices.find((choice) => choice.items)?.items as JsonSchema | undefined;
  if (items)
    return missingFields(
      items,
      values.flatMap((value) => (Array.isArray(value) ? value : [])),
      `${at}[]`,
    );
  const properties = choices.find((choice) => choice.properties)?.properties ?? {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const given = values.flatMap((value) =>
      typeof value === 'object' && value !== null && name in value
        ? [(value as Record<string, unknown>)[name]]
        : [],
    );
    const path = `${at}.${name}`;
    return given.length === 0 ? [path] : missingFields(property as JsonSchema, given, path);
  });
}
