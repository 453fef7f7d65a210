// The columns of the model, as statements list them, are those of the database.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { Prisma } from '../../src/db/generated/client.ts';
import {
  assigned,
  columnsOf,
  listed,
  parameters,
  valuesIn,
  type RowOf,
} from '../../src/db/rows.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('the columns of a model', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test.each(Object.values(Prisma.ModelName))('%s are those of its table', async (model) => {
    const table = model.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
    const { rows } = await client.query<{ name: string }>(
      `select column_name::text as name from information_schema.columns
       where table_schema = 'public' and table_name = $1`,
      [table],
    );
    expect(new Set<string>(columnsOf(model))).toEqual(new Set(rows.map(({ name }) => name)));
  });

  test('are all but those that are left out', () => {
    expect(columnsOf('Person')).toEqual(['team_id', 'id']);
    expect(columnsOf('Person', 'team_id')).toEqual(['id']);
  });
});

test('a list of columns is written for a SELECT, an INSERT and an UPDATE', () => {
  const columns = ['user_id', 'note'] as const;
  expect(listed(columns)).toBe('user_id, note');
  expect(listed(columns, 'a.')).toBe('a.user_id, a.note');
  expect(parameters(columns, 2)).toBe('$2, $3');
  expect(assigned(columns, 3)).toBe('user_id = $3, note = $4');
  expect(valuesIn(columns, { note: null, user_id: 'u' })).toEqual(['u', null]);
});

test('a row has the types that a statement reads', () => {
  type Row = RowOf<'TrainingCase', 'team_id' | 'title' | 'fields' | 'created_at' | 'private'>;
  expectTypeOf<Row>().toEqualTypeOf<{
    readonly team_id: string;
    readonly title: string | null;
    readonly fields: unknown;
    readonly created_at: string;
    readonly private: boolean;
  }>();
  expectTypeOf<RowOf<'ApiKey', 'secret_hash' | 'scopes'>>().toEqualTypeOf<{
    readonly secret_hash: Buffer;
    readonly scopes: readonly string[];
  }>();
});
