// A vocabulary is declared once: each CHECK that lists texts lists those of the code.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { VOCABULARIES } from '../support/vocabularies.ts';

/** `CHECK ((status = ANY (ARRAY['open'::text, 'done'::text])))` */
const LISTED = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.*)\]\)\)\)$/;

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

test('the texts that a CHECK lists are those of the code', async () => {
  const { rows } = await client.query<{ table: string; definition: string }>(
    `select conrelid::regclass::text as table, pg_get_constraintdef(oid) as definition
     from pg_constraint
     where contype = 'c'
       and connamespace = 'public'::regnamespace
       -- no shard of Citus
       and conrelid::regclass::text !~ '_[0-9]{6,}$'`,
  );
  const listed = rows.flatMap(({ table, definition }) => {
    const [, column, texts = ''] = LISTED.exec(definition) ?? [];
    const words = [...texts.matchAll(/'([^']*)'/g)].map(([, word]) => word);
    return column === undefined ? [] : [[`${table} ${column}`, new Set(words)] as const];
  });
  expect(new Map(listed)).toEqual(
    new Map(Object.entries(VOCABULARIES).map(([column, words]) => [column, new Set(words)])),
  );
});
