// What a list hides or filters away costs nothing: it reads about a page, however many rows it must
// not show. The figures are rows, not times, so they are the same on any machine and at any size.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listEntries } from '../../src/features/audit-log/store.ts';
import { listDeals, listObjections } from '../../src/features/crm/store.ts';
import { listEvaluatedTrainings, listTrainings } from '../../src/features/trainings/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';
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
  const gone = makeMember('big', 'gone', { status: 'ended' });
  const team = makeTeam('big', { crm_connections: connections, members: [gone] });
  await loadTestSeed(database, makeSeed([team]));
  client = new Client(database.url);
  await client.connect();
  // Checks of foreign keys keep the plan that they make while the tables are empty.
  await client.query('set enable_seqscan = off');
  await addDeals('open', 100, '2026-01-01');
  await addDeals('other', 100, '2026-01-01');
  await addDeals('paused', HIDDEN, '2026-02-01');
  await client.query(`update crm_connection set status = 'paused' where id = 'paused'`);
  await addTrainings('usr_big_member', 100, '2026-01-01');
  await addTrainings('usr_big_gone', HIDDEN, '2026-02-01');
  await addAuditEntries(HIDDEN);
  await client.query('reset enable_seqscan');
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

/** Adds scored trainings of a person, from that day on. */
async function addTrainings(userId: string, count: number, from: string): Promise<void> {
  await client.query(
    `insert into training (team_id, id, user_id, status, created_at)
     select $1, $2 || '_' || n, $2, 'scored', $4::timestamptz + n * interval '1 minute'
     from generate_series(1, $3::int) n`,
    [TEAM, userId, count, from],
  );
  await client.query(
    `insert into evaluation (team_id, training_id, saved_at, stored_at)
     select team_id, id, created_at, created_at
     from training
     where team_id = $1 and user_id = $2`,
    [TEAM, userId],
  );
}

/** Adds entries that are alike but for the first one. */
async function addAuditEntries(count: number): Promise<void> {
  await client.query(
    `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
     select $1, 'aud_' || n, now() + n * interval '1 second',
       case n when 1 then 'user' else 'api_key' end,
       case n when 1 then 'mem_rare' else 'key_busy' end,
       case n when 1 then 'member.removed' else 'assignment.created' end,
       'asg_' || n, 'req'
     from generate_series(1, $2::int) n`,
    [TEAM, count],
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

  // Those near the position, with a look at the membership of each, and a page of the others.
  const NEAR = 8_000;
  test.each<[string, (db: Db) => Promise<unknown>]>([
    ['trainings', (db) => listTrainings(db, TEAM, { ...PAGE, since: null }, {})],
    [
      'trainings with a status',
      (db) => listTrainings(db, TEAM, { ...PAGE, since: null }, { status: 'scored' }),
    ],
    ['evaluations', (db) => listEvaluatedTrainings(db, TEAM, { ...PAGE, since: null })],
  ])('%s of people who left are read for a while only', async (_, list) => {
    expect(await read(list)).toBeLessThanOrEqual(NEAR);
  });

  test('trainings of a person with a rare status are found at once', async () => {
    const filters = { user_id: 'usr_big_member', status: 'unheard_of' };
    const list = (db: Db) => listTrainings(db, TEAM, { ...PAGE, since: null }, filters);
    expect(await read(list)).toBeLessThanOrEqual(5);
  });

  test.each([
    { actor_kind: 'user' },
    { actor_id: 'mem_rare' },
    { actor_kind: 'user', actor_id: 'mem_rare' },
    { actor_id: 'mem_rare', actor_kind: 'user', action: 'member.removed' },
    { action: 'member.removed' },
    { action: 'unheard.of' },
    { target_id: 'asg_1' },
    { target_id: 'asg_1', actor_kind: 'user' },
  ])('a search of the audit log for %o reads what it finds', async (filters) => {
    expect(await read((db) => listEntries(db, TEAM, PAGE, filters))).toBeLessThanOrEqual(5);
  });
});
