// What the hourly removal of old calls reads: few rows, also if one team makes nearly all calls.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { oldestKept, slotOf } from '../../src/features/requests/rules.ts';
import { removeOld } from '../../src/features/requests/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const NOW = new Date('2026-11-20T10:00:00.000Z');
/** Of each day. */
const CALLS = 5_000;
const DAYS = 8;
const TEAMS = 1_000;
const IDS = Array.from({ length: TEAMS }, (_, n) => (n === 0 ? 'team_big' : `team_small_${n}`));

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await loadTestSeed(database, makeSeed([makeTeam('big')]));
  for (let day = 0; day < DAYS; day += 1) {
    const at = new Date(NOW.getTime() - day * 86_400_000);
    await client.query(
      `insert into request_log
         (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
       select 'team_big', $1, $2::text || n, $2::timestamptz - n * interval '1 ms', 'key_1', 'GET',
         '/users', 200, 1
       from generate_series(1, $3::int) n`,
      [slotOf(at), at.toISOString(), CALLS],
    );
  }
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const removals: readonly { mode: Mode; keptDays: number; calls: number }[] = [
  { mode: 'generic', keptDays: 30, calls: 0 },
  { mode: 'custom', keptDays: 30, calls: 0 },
  { mode: 'generic', keptDays: 3, calls: 1_000 },
  { mode: 'custom', keptDays: 3, calls: 1_000 },
];
describe.each(['no', 'fresh'])('with %s statistics', (statistics) => {
  test.each(removals)('$mode plan, $calls go: few are read', async ({ mode, keptDays, calls }) => {
    if (statistics === 'fresh') await client.query('analyze request_log');
    const before = oldestKept(NOW, keptDays);
    await client.query('begin');
    const nodes = await explain(client, (db) => removeOld(db, IDS, before), mode);
    await client.query('rollback');
    expect(rowsRead(nodes)).toBeGreaterThanOrEqual(2 * calls);
    // Each call that goes is found and deleted. To delete many, the planner may read all once.
    expect(rowsRead(nodes)).toBeLessThanOrEqual(calls === 0 ? 10 : 4 * calls + DAYS * CALLS);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort');
  });
});
