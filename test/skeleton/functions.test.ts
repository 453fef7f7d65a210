// The functions of the database are those of prisma/functions: no other, none missing, each as its
// file says.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { splitStatements } from '../../src/db/operator/migrate.ts';
import { readFunctions } from '../../src/db/operator/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

/** Migrations call it, so one of them creates it before the others. */
const OF_MIGRATIONS = 'distribute_by_team';

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

async function readDatabase(): Promise<{ name: string; definition: string }[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select proname::text as name, pg_get_functiondef(oid) as definition
     from pg_proc
     where pronamespace = 'public'::regnamespace
       and proname <> '${OF_MIGRATIONS}'
     order by proname collate "C"`,
  );
  return rows;
}

test('each function has a file, each file has a function, and they are the same', async () => {
  const migrated = await readDatabase();
  const files = await readFunctions();
  expect(files.map(({ name }) => name)).toEqual(migrated.map(({ name }) => `functions/${name}`));
  for (const { name } of migrated) await client.query(`drop function "${name}"`);
  for (const { sql } of files)
    for (const statement of splitStatements(sql)) await client.query(statement);
  expect(await readDatabase()).toEqual(migrated);
});
