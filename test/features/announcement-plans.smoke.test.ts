// What a step of an announcement reads: as much beside very many teams as beside a few.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Db } from '../../src/db/client.ts';
import { countRecipients, listRecipients } from '../../src/features/announcements/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsRead } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const NOW = new Date('2026-11-20T10:00:00.000Z');
const TEAMS = 2_000;
const KEYS = 3;
/** One of the teams has so many members, and all the keys that a team can have. */
const MEMBERS = 50_000;
const KEYS_OF_LARGE = 50;

let database: TestDatabase;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  await loadTestSeed(database, makeSeed([makeTeam('a')]));
  const copy = async (
    table: string,
    values: Record<string, string>,
    from: string,
    rows: string,
  ) => {
    const { rows: columns } = await client.query<{ name: string }>(
      `select column_name as name from information_schema.columns
       where table_name = $1 and table_schema = 'public' and is_generated = 'NEVER'`,
      [table],
    );
    const names = columns.map(({ name }) => name);
    await client.query(
      `insert into ${table} (${names.join(', ')})
       select ${names.map((name) => values[name] ?? `one.${name}`).join(', ')}
       from (select * from ${table} where ${from} limit 1) one, ${rows}`,
    );
  };
  const teams = `generate_series(1, ${TEAMS}) n`;
  const team_id = `'t_' || lpad(n::text, 5, '0')`;
  const owner = { team_id, id: `'m'`, user_id: `'p'`, email: `'o' || n || '@example.com'` };
  const key = { team_id, id: `'k' || k`, name: `'Key ' || k`, created_by: `'m'` };
  const prefix = `lpad((n * 100 + k)::text, 12, '0')`;
  await copy('team', { id: team_id }, `id = 'team_a'`, teams);
  await copy('person', { team_id, id: `'p'` }, `team_id = 'team_a'`, teams);
  await copy('member', owner, `team_id = 'team_a' and role = 'owner'`, teams);
  await copy(
    'api_key',
    { ...key, prefix, revoked_at: 'null', expires_at: 'null' },
    `team_id = 'team_a'`,
    `${teams}, generate_series(1, case n when 1 then ${KEYS_OF_LARGE} else ${KEYS} end) k`,
  );
  const members = `generate_series(1, ${MEMBERS}) n`;
  await copy('person', { id: `'p' || n` }, `team_id = 't_00001'`, members);
  await copy(
    'member',
    { id: `'m' || n`, user_id: `'p' || n`, role: `'member'`, email: `'e' || n` },
    `team_id = 't_00001'`,
    members,
  );
  await client.query('analyze team, person, member, api_key, announcement_mail');
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const PAGE = Array.from({ length: 10 }, (_, n) => `t_${String(n + 1).padStart(5, '0')}`);
/** Of each team its row and, of each key, the key, its creator, the owner and who was mailed. */
const MOST = ((PAGE.length - 1) * KEYS + KEYS_OF_LARGE) * 6;

test.each<[string, (db: Db) => Promise<unknown>]>([
  ['who is mailed', (db) => listRecipients(db, 'v1', { now: NOW, teamIds: PAGE })],
  ['how many are mailed', (db) => countRecipients(db, 'v1', { now: NOW, teamIds: PAGE })],
])('%s is read of a page of teams only', async (_what, ask) => {
  expect(rowsRead(await explain(client, ask, 'custom'))).toBeLessThanOrEqual(MOST);
});
