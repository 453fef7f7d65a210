// What `npm run trace` reads: as much of a team with very many rows as of a small one. Each
// statement is one range of an index, in the plan that a prepared statement keeps and in one that
// is made with the values.
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db } from '../../src/db/client.ts';
import { listTeamIds } from '../../src/db/team-pages.ts';
import { findOldestWaiting } from '../../src/delivery/beside-store.ts';
import { slotOf } from '../../src/features/requests/rules.ts';
import * as callers from '../../src/trace/caller-store.ts';
import * as find from '../../src/trace/find-store.ts';
import { firstUsageDay, LIMITS } from '../../src/trace/rules.ts';
import * as state from '../../src/trace/state-store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const ROWS = 20_000;
const TEAMS = 500;
/** A count of waiting deliveries ends here, for each of two endpoints in three ways. */
const COUNTED = 2 * 3 * 1_000;
const START = new Date('2026-11-02T00:00:00.000Z');
/** One row a second. */
const at = (row: number): Date => new Date(START.getTime() + row * 1_000);
const REQUEST = requestId(ROWS / 2);

function requestId(row: number): string {
  const hex = at(row).getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(row).padStart(12, '0')}`;
}

let database: TestDatabase;
let client: Client;
let teams: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  const webhook_endpoints = ['0', '1'].map((name) => ({
    id: `whe_${name}`,
    url: `https://example.com/${name}`,
    events: ['assignment.created' as const],
  }));
  await loadTestSeed(database, makeSeed([makeTeam('big', { webhook_endpoints })]));
  await client.query(
    `insert into team (id, name, created_at)
     select 'few_' || lpad(i::text, 5, '0'), 'F', now() from generate_series(1, $1::int) i`,
    [TEAMS - 1],
  );
  const times = `$2::timestamptz + i * interval '1 second'`;
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at, place, request_id)
     select 'team_big', 'evt_' || i, 'assignment.created', '{}', ${times}, ${times}, i, i::text
     from generate_series(1, $1::int) i`,
    [ROWS, START],
  );
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select 'team_big', 'whd_' || i, 'whe_' || i % 2, 'evt_' || i, 'assignment.created',
       case when i % 4 = 0 then 'pending' when i % 4 = 1 then 'retrying' else 'ok' end,
       case when i % 4 = 0 then 0 else 1 end, ${times}, case when i % 4 < 2 then ${times} end
     from generate_series(1, $1::int) i`,
    [ROWS, START],
  );
  await client.query(
    `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
     select 'team_big', 'aud_' || i, ${times}, 'api_key', 'key_1', 'webhook_endpoint.updated',
       'whe_' || i % 2, i::text
     from generate_series(1, $1::int) i`,
    [ROWS, START],
  );
  await client.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
     select 'team_big', $3, 'request ' || i, ${times}, 'key_1', 'POST', '/users', 200, 1
     from generate_series(1, $1::int) i`,
    [ROWS, START, slotOf(START)],
  );
  await client.query(
    `insert into api_key (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
     select 'team_big', 'key_' || i, 'Key ' || i, 'prefix' || lpad(i::text, 5, '0'),
       sha256(i::text::bytea), '{}', m.id, ${times}
     from generate_series(1, $1::int) i
     cross join (select id from member where team_id = 'team_big' limit 1) m`,
    [ROWS, START],
  );
  await client.query(
    `insert into key_directory (prefix, team_id)
     select prefix, team_id
     from api_key
     where id like 'key_%'
     on conflict do nothing`,
  );
  await client.query(
    `select count(graphile_worker.add_job('nothing', job_key => 'job ' || i))
     from generate_series(1, 2000) i`,
  );
  await client.query(
    `analyze api_key, key_directory, graphile_worker._private_jobs, team, event, webhook_delivery,
       webhook_endpoint, audit_log, request_log`,
  );
  const { rows } = await client.query<{ id: string }>('select id from team order by id');
  teams = rows.map(({ id }) => id);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const window = { from: at(ROWS / 2 - 60), to: at(ROWS / 2 + 60) };
const cases: readonly [what: string, most: number, ask: (db: Db) => Promise<unknown>][] = [
  ['a page of teams', TEAMS, (db) => listTeamIds(db, '', TEAMS)],
  [
    'the line of a request, in all teams',
    1,
    (db) => find.findRequests(db, teams, { id: `request ${ROWS}`, slot: slotOf(START) }),
  ],
  [
    'the audit entries of a request, in all teams',
    121,
    (db) => find.findAudit(db, teams, { requestId: REQUEST, window, limit: 50 }),
  ],
  ['an event, in all teams', 1, (db) => find.findEvents(db, teams, `evt_${ROWS}`)],
  ['a delivery, in all teams', 1, (db) => find.findDeliveries(db, teams, `whd_${ROWS}`)],
  // Both are looked at, or one of them: the table is that small.
  ['an endpoint, in all teams', 2, (db) => find.findEndpoints(db, teams, 'whe_1')],
  ['a key, in all teams', 1, (db) => find.findKeys(db, teams, 'key_1')],
  ['a CRM connection, in all teams', 1, (db) => find.findConnections(db, teams, 'crm_1')],
  ['a key by its public part', 1, (db) => find.findKeyByPrefix(db, 'prefix00007')],
  ['what is known of a key', 2, (db) => callers.findKey(db, 'team_big', 'key_1')],
  [
    'how the calls of a key ended',
    1,
    (db) => callers.sumUsage(db, 'team_big', 'key_1', firstUsageDay(START)),
  ],
  [
    'the refused calls of a key',
    LIMITS.calls + LIMITS.failed,
    (db) => callers.listRefused(db, 'team_big', 'key_1'),
  ],
  ['what became of something', 10, (db) => callers.listChanges(db, 'team_big', 'whe_1')],
  ['the CRM connections', 1, (db) => callers.listConnections(db, 'team_big', null)],
  ['a job by its key', 2, (db) => callers.listJobs(db, ['job 7'])],
  ['a team', 1, (db) => state.findTeam(db, 'team_big')],
  [
    'the events of a change',
    1,
    (db) => state.listEventsAt(db, 'team_big', { requestId: '7', at: at(7).toISOString() }, 100),
  ],
  [
    'the audit entries of an event',
    1,
    (db) => state.listAuditAt(db, 'team_big', { requestId: '7', at: at(7) }, 50),
  ],
  ['the deliveries of an event', 1, (db) => state.listDeliveries(db, 'team_big', 'evt_7', 100)],
  [
    'the endpoints, and what waits for them',
    COUNTED + 10,
    (db) => state.listEndpoints(db, 'team_big', 100),
  ],
  ['the last failures', 2 + 2 * 10, (db) => state.listFailed(db, 'team_big', null, 10)],
  ['the last failures of one', 2 + 10, (db) => state.listFailed(db, 'team_big', 'whe_1', 10)],
  ['what workers have in hand', 0, (db) => state.countInHand(db, 'team_big', [1, 2, 3])],
  ['the oldest event that waits', 0, (db) => findOldestWaiting(db)],
  ['who has locked events', 1, (db) => state.findLockers(db, 'event', 'team_big', ['evt_7'])],
  [
    'who has locked deliveries',
    1,
    (db) => state.findLockers(db, 'delivery', 'team_big', ['whd_7']),
  ],
];

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test.each(cases)('%s: reads %i rows at most, by an index', async (_what, most, ask) => {
    const nodes = await explain(client, ask, mode);
    const scans = nodes.filter((node) => 'Relation Name' in node);
    const wholes = scans.filter(
      (node) =>
        node['Node Type'] === 'Seq Scan' &&
        !['webhook_endpoint', 'sandbox', 'event_in_hand'].includes(node['Relation Name'] ?? ''),
    );
    expect(wholes).toEqual([]);
    expect(rowsRead(nodes)).toBeLessThanOrEqual(most);
  });
});
