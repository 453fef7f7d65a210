// The twins only prove something where they share ids that have different contents.
import { beforeAll, expect, it } from 'vitest';
import { KEYS } from '../../src/db/tenant-tables.ts';
import type { TestApi } from '../support/api.ts';
import { SIDES } from '../support/twins.ts';
import { listTenantTables, openWorld } from './twin-worlds.ts';

let api: TestApi;
beforeAll(async () => {
  ({ api } = await openWorld(SIDES, 'http://127.0.0.1:9'));
});

it('have rows with the same key and other contents in every table of a team', async () => {
  const tables = await listTenantTables(api);
  // A prefix is of one team only.
  for (const table of tables.filter((name) => name !== KEYS)) {
    const keys = (await primaryKeyOf(table)).filter((column) => column !== 'team_id');
    const key = keys.map((column) => `to_jsonb(t) -> '${column}'`).join(', ');
    const rows = `(
      select jsonb_build_array(${key}) as key, to_jsonb(t) - 'team_id' as contents, t.team_id
      from ${table} t
    )`;
    const { rows: found } = await api.db.pool.query<Record<string, number>>(
      `select count(*) filter (where a.key = b.key)::int as shared,
         count(*) filter (where a.key = b.key and a.contents <> b.contents)::int as different,
         count(*) filter (where b.key is null)::int as only_a,
         count(*) filter (where a.key is null)::int as only_b
       from (select * from ${rows} r where team_id = 'team_a') a
       full join (select * from ${rows} r where team_id = 'team_b') b on a.key = b.key`,
    );
    const { shared = 0, different = 0, only_a: onlyA = 0, only_b: onlyB = 0 } = found[0] ?? {};
    expect(shared, `${table}: rows with the same key`).toBeGreaterThan(0);
    // In a table without other columns, the keys themselves must differ.
    expect(different > 0 || (onlyA > 0 && onlyB > 0), `${table}: other contents`).toBe(true);
  }
});

async function primaryKeyOf(table: string): Promise<string[]> {
  const { rows } = await api.db.pool.query<{ name: string }>(
    `select a.attname as name from pg_index i
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
     where i.indrelid = $1::regclass and i.indisprimary`,
    [table],
  );
  return rows.map(({ name }) => name);
}
