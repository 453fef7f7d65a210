// Which tables are analyzed because they have grown.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { analyzeGrown } from '../../src/delivery/beside-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openTestDatabase } from '../support/wire.ts';

let database: TestDatabase;
let db: Database;
// What has been analyzed once stays so.
beforeEach(async () => {
  database = await createTestDatabase();
  db = openTestDatabase({ url: database.url, poolMax: 2, statementTimeoutMs: 120_000 });
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

/** Some 150 rows are a page. */
const fill = (from: number, to: number) =>
  db.pool.query(
    `begin;
     set local session_replication_role = replica;
     insert into event_in_hand (team_id, event_id, worker)
     select 'team_a', 'evt_' || n, 7 from generate_series(${from}, ${to}) n;
     commit`,
  );
/** Table → its rows when it was last analyzed; -1: never. */
async function analyzed(): Promise<Record<string, number>> {
  const { rows } = await db.pool.query(
    `select relname as name, reltuples::int as count
     from pg_class
     where oid = any ('{event, event_in_hand, webhook_delivery, member}'::regclass[])`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

test('a table is analyzed when it has 16 pages, and then four times as many', async () => {
  const never = { event: -1, webhook_delivery: -1, member: -1 };
  await fill(1, 1_000);
  await analyzeGrown(db);
  expect(await analyzed()).toEqual({ ...never, event_in_hand: -1 });
  await fill(1_001, 3_000);
  await analyzeGrown(db);
  expect(await analyzed()).toEqual({ ...never, event_in_hand: 3_000 });
  await fill(3_001, 9_000);
  await analyzeGrown(db);
  expect(await analyzed()).toEqual({ ...never, event_in_hand: 3_000 });
  await fill(9_001, 14_000);
  await analyzeGrown(db);
  expect(await analyzed()).toEqual({ ...never, event_in_hand: 14_000 });
});

test('a large table is left to autovacuum', async () => {
  await fill(1, 20_000);
  await db.pool.query('analyze event_in_hand');
  await fill(20_001, 100_000);
  await analyzeGrown(db);
  expect(await analyzed()).toMatchObject({ event_in_hand: 20_000 });
});
