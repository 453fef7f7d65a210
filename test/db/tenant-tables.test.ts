// The list of the tables with rows of one team, from which the removal of a whole team derives, and
// what keeps that removal cheap.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEYS, keyOf, TENANT_TABLE_NAMES, TENANT_TABLES } from '../../src/db/tenant-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

test('has every table with a team, and its primary key behind the team', async () => {
  const { rows } = await client.query<{ table: string; key: Record<string, string> }>(
    `select c.relname as table,
       json_object_agg(a.attname, format_type(a.atttypid, null) order by k.place)
         filter (where a.attname <> 'team_id') as key
     from pg_class c
     join pg_index i on i.indrelid = c.oid and i.indisprimary
     cross join lateral unnest(i.indkey) with ordinality as k (number, place)
     join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
     where c.relnamespace = 'public'::regnamespace
       and c.relname <> '${KEYS}'
       and exists (
         select
         from pg_attribute t
         where t.attrelid = c.oid and t.attname = 'team_id'
       )
     group by c.oid, c.relname`,
  );
  const found = Object.fromEntries(rows.map(({ table, key }) => [table, key]));
  const types = { text: 'text', int: 'integer', date: 'date' } as const;
  const listed = Object.fromEntries(
    Object.entries(TENANT_TABLES).map(([table, key]) => [
      table,
      Object.fromEntries(Object.entries(key).map(([name, type]) => [name, types[type]])),
    ]),
  );
  expect(listed).toEqual(found);
  // The order of the columns in the index, too: a batch is one range of it.
  expect(Object.values(listed).map((key) => Object.keys(key))).toEqual(
    Object.keys(listed).map((table) => Object.keys(found[table] ?? {})),
  );
});

test('has children before parents', async () => {
  const { rows } = await client.query<{ child: string; parent: string }>(
    `select conrelid::regclass::text as child, confrelid::regclass::text as parent
     from pg_constraint
     where contype = 'f' and not condeferrable and conrelid <> confrelid`,
  );
  const place = (table: string) => TENANT_TABLE_NAMES.indexOf(table as 'member');
  const wrong = rows.filter(
    ({ child, parent }) => place(parent) >= 0 && place(child) > place(parent),
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});

/** Foreign keys whose columns, in any order, begin no index that holds all their rows. */
const UNINDEXED = `
  select c.conname as name
  from pg_constraint c
  where c.contype = 'f'
    and c.connamespace = 'public'::regnamespace
    and not exists (
      select
      from pg_index i
      where i.indrelid = c.conrelid
        and i.indisvalid
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey
        and (
          i.indpred is null
          or pg_get_expr(i.indpred, i.indrelid) ~ '^\\(\\w+ IS NOT NULL\\)$'
        )
    )
  order by 1`;

// Without one, Postgres reads all rows of the team for each row that is deleted.
test('each foreign key has an index that begins with its columns', async () => {
  expect((await client.query(UNINDEXED)).rows).toEqual([]);
  await client.query('begin');
  await client.query('drop index crm_deal_owner_idx');
  expect((await client.query(UNINDEXED)).rows).toEqual([
    { name: 'crm_deal_team_id_owner_user_id_fkey' },
  ]);
  await client.query('rollback');
});

test('makes SQL of a key', () => {
  expect(keyOf('request_log')).toEqual({
    columns: 'slot, id',
    position: '($2::text[])[1]::int, ($2::text[])[2]::text',
    asPosition: 'array[slot::text, id::text]',
    start: ['-2147483648', ''],
  });
});
