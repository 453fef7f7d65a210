import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
  await client.query('begin; drop index crm_deal_owner_idx');
  expect((await client.query(UNINDEXED)).rows).toEqual([
    { name: 'crm_deal_team_id_owner_user_id_fkey' },
  ]);
  await client.query('rollback');
});
