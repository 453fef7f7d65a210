// What a list hides or filters away costs nothing: it reads about a page, however many rows it must
// not show. The figures are rows, not times, so they are the same on any machine and at any size.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listDeals, listObjections } from '../../src/features/crm/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import type { Db } from '../../src/db/client.ts';

const TEAM = 'team_big';
const PAGE = { limit: 51, after: null };
/** What each list hides. */
const HIDDEN = 20_000;

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  const connections = [{ id: 'open' }, { id: 'other' }, { id: 'paused' }];
  await loadTestSeed(database, makeSeed([makeTeam('big', { crm_connections: connections })]));
  client = new Client(database.url);
  await client.connect();
  await addDeals('open', 100, '2026-01-01');
  await addDeals('other', 100, '2026-01-01');
  await addDeals('paused', HIDDEN, '2026-02-01');
  await client.query(`update crm_connection set status = 'paused' where id = 'paused'`);
  await client.query('vacuum analyze');
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Adds deals of a connection, each with an objection, from that day on. */
async function addDeals(connection: string, count: number, from: string): Promise<void> {
  await client.query(
    `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
     select $1, $2 || '_' || n, $2, n, 'open', $4::timestamptz + n * interval '1 minute'
     from generate_series(1, $3::int) n`,
    [TEAM, connection, count, from],
  );
  await client.query(
    `insert into crm_objection (team_id, id, deal_id, category, text, lang, created_at)
     select team_id, id, id, 'price', 'too dear', 'en', created_at
     from crm_deal
     where team_id = $1 and connection_id = $2`,
    [TEAM, connection],
  );
}

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  const read = async (list: (db: Db) => Promise<unknown>): Promise<number> =>
    rowsRead(await explain(client, list, mode));

  test('deals and objections of a paused connection are not read', async () => {
    // A page of each active connection, and the connections.
    const most = 2 * PAGE.limit + 3;
    expect(await read((db) => listDeals(db, TEAM, PAGE))).toBeLessThanOrEqual(most);
    expect(await read((db) => listObjections(db, TEAM, PAGE))).toBeLessThanOrEqual(most);
  });
});
