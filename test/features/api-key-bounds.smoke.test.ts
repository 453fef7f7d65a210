// What is read of a team's keys is bounded by the live ones, however many have ended. The figures
// are rows.
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db, Tx } from '../../src/db/client.ts';
import { countLiveAndNames, listKeys } from '../../src/features/api-keys/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsOf, type Mode, type PlanNode } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';

const TEAM = 'team_big';
/** More of them change nothing; it may be set to try that. */
const ENDED = Number(process.env['ROWS'] ?? 5_000);
/** As many as a team may have. Half are in their grace period. All are older than the others. */
const LIVE = 50;
const NOW = new Date('2020-01-18T12:00:00.000Z');

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([{ ...makeTeam('big'), api_keys: [] }]));
  client = await openWhereTeamIs(database.url, TEAM);
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into api_key
       (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at,
        revoked_at)
     select $1, 'key_' || n, 'Import (' || n || ')', lpad(n::text, 12, '0'),
       decode(repeat('00', 32), 'hex'), '{}', 'mem_big_owner',
       $4::timestamptz - interval '1 year' + n * interval '1 minute',
       case
         when n <= $3 and n % 3 = 0 then $4::timestamptz + interval '100 years'
         when n > $3 and n % 2 = 0 then $4::timestamptz - n * interval '1 second'
       end,
       case
         when n <= $3 and n % 2 = 0 then $4::timestamptz + interval '1 day'
         when n > $3 and n % 2 = 1 then $4::timestamptz - n * interval '1 second'
       end
     from generate_series(1, $2::int + $3::int) n`,
    [TEAM, ENDED, LIVE, NOW],
  );
  await client.query('vacuum analyze');
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** The keys that were read, wanted or not. */
const keysRead = (nodes: readonly PlanNode[]): number =>
  nodes
    .filter(({ 'Relation Name': table = '' }) => /^api_key(_\d+)?$/.test(table))
    .reduce((sum, node) => sum + rowsOf(node), 0);

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  // null: the database's own clock, of which the planner knows nothing.
  test.each([
    ['this time', NOW, LIVE],
    ['the clock of the database', null, LIVE / 2],
  ])('the live keys are read and no others, by %s', async (_, now, live) => {
    for (const after of [null, { at: NOW.toISOString(), id: 'key_x' }]) {
      const query = { now, limit: 201, after, state: 'active' } as const;
      const plan = await explain(client, (db) => listKeys(db, TEAM, query), mode);
      expect(keysRead(plan)).toBe(live);
    }
  });

  test('a page of all keys is read and no others', async () => {
    for (const after of [null, { at: NOW.toISOString(), id: 'key_x' }]) {
      const query = { now: null, limit: 51, after };
      const plan = await explain(client, (db) => listKeys(db, TEAM, query), mode);
      expect(keysRead(plan)).toBe(query.limit);
    }
  });

  test('the live keys are counted, and names looked up, without reading the others', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `Import (${n + 1_000})`);
    for (const now of [NOW, null]) {
      const count = (db: Db) => countLiveAndNames(db as unknown as Tx, TEAM, names, now);
      expect(keysRead(await explain(client, count, mode))).toBeLessThanOrEqual(LIVE + names.length);
    }
  });
});
