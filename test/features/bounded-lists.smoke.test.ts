// What a list hides or filters away costs nothing: it reads about a page, however many rows it must
// not show. The figures are rows, not times, so they are the same on any machine and at any size.
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGE_LIMIT_MAX, type Page, type PageQuery } from '../../src/core/page.ts';
import { privacyOf } from '../../src/core/privacy.ts';
import type { Db, Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { listEntries } from '../../src/features/audit-log/service.ts';
import {
  searchAssignments,
  type AssignmentFilters,
} from '../../src/features/assignments/search-store.ts';
import * as assignments from '../../src/features/assignments/service.ts';
import * as audit from '../../src/features/audit-log/store.ts';
import { listDeals, listObjections } from '../../src/features/crm/store.ts';
import { upsertDeals } from '../../src/features/crm/sync/page-store.ts';
import { sweepDeals, sweepNotes } from '../../src/features/crm/sync/sweep-store.ts';
import * as events from '../../src/features/events/service.ts';
import { listEvents } from '../../src/features/events/store.ts';
import * as evaluations from '../../src/features/evaluations/service.ts';
import { positionIn, SORTS } from '../../src/features/members/rules.ts';
import { findByAddress, searchMembers } from '../../src/features/members/search-store.ts';
import { listMembers } from '../../src/features/members/service.ts';
import * as trainings from '../../src/features/trainings/service.ts';
import { listEvaluatedTrainings, listTrainings } from '../../src/features/trainings/store.ts';
import { listDeliveries } from '../../src/features/webhook-deliveries/admin-service.ts';
import * as deliveries from '../../src/features/webhook-deliveries/admin-store.ts';
import { listHealth, readBacklog } from '../../src/features/webhook-deliveries/health-store.ts';
import * as resends from '../../src/features/webhook-deliveries/resend-store.ts';
import {
  COUNTED_MAX,
  PINGS_PASSED_MAX,
  RECENT,
} from '../../src/features/webhook-deliveries/rules.ts';
import { findPauseMailRow } from '../../src/features/webhook-endpoints/pause-store.ts';
import { loadTestSeed } from '../support/api.ts';
import { PAGE_DEAL } from '../support/crm/deals.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { blocksRead, explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import { openPatiently } from '../support/wire.ts';

const TEAM = 'team_big';
const MEMBERS = 'team_crowd';
const SHOWN = { memberDetailEnabled: true, leaderboardEnabled: true };
const PAGE = { limit: 51, after: null };
/** What each list hides. More of it changes nothing; it may be set to try that. */
const HIDDEN = Number(process.env['ROWS'] ?? 20_000);
/** A resend of what was created in the far future. */
const RESEND = {
  id: 'whr_1',
  endpoint_id: 'whe_1',
  state: 'running' as const,
  since: '2900-01-01T00:00:00.000Z',
  until: null,
  event_type: null,
  status: null,
  total: 0,
  has_more: true,
  sent: 0,
  position_at: null,
  position_id: null,
  created_at: '2999-01-01T00:00:00.000Z',
  finished_at: null,
};
/** The members that a search reads for a page at most. */
const READ_MAX = 10_000;

let database: TestDatabase;
let client: Client;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  const connections = [{ id: 'open' }, { id: 'other' }, { id: 'paused' }];
  const gone = makeMember('big', 'gone', { status: 'ended' });
  const webhooks = ['whe_0', 'whe_1', 'whe_waiting'].map((id) => ({
    id,
    url: 'https://a.test/',
    events: ['member.joined' as const],
  }));
  const team = makeTeam('big', {
    crm_connections: connections,
    members: [gone],
    webhook_endpoints: webhooks,
  });
  await loadTestSeed(database, makeSeed([team]));
  client = await openWhereTeamIs(database.url, TEAM);
  // Checks of foreign keys keep the plan that they make while the tables are empty.
  await client.query('set enable_seqscan = off');
  await addDeals('open', 100, '2026-01-01');
  await addDeals('other', 100, '2026-01-01');
  await addDeals('paused', HIDDEN, '2026-02-01');
  await client.query(`update crm_connection set status = 'paused' where id = 'paused'`);
  await addTrainings('usr_big_member', 100, '2026-01-01');
  await addTrainings('usr_big_gone', HIDDEN, '2026-02-01');
  await assignTrainings('asg_gone', gone);
  await addEvents(2 * HIDDEN);
  await addAuditEntries(2 * HIDDEN);
  await addDeliveries(2 * HIDDEN);
  await client.query('reset enable_seqscan');
  db = openPatiently(database.url);
  await client.query('vacuum analyze');
});

afterAll(async () => {
  await client.end();
  await db.close();
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
  await client.query('analyze crm_deal');
  await client.query(
    `insert into crm_objection 
       (team_id, id, deal_id, connection_id, category, text, lang, created_at)
     select team_id, id, id, connection_id, 'price', 'too dear', 'en', created_at
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
  await client.query('analyze training');
  await client.query(
    `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
     select team_id, id, user_id, created_at, created_at
     from training
     where team_id = $1 and user_id = $2`,
    [TEAM, userId],
  );
}

/** Makes the trainings of a member those of one assignment. */
async function assignTrainings(
  id: string,
  { id: memberId, user_id }: ReturnType<typeof makeMember>,
): Promise<void> {
  await client.query(
    `insert into assignment (team_id, id, member_id, created_at) values ($1, $2, $3, now())`,
    [TEAM, id, memberId],
  );
  await client.query('update training set assignment_id = $2 where team_id = $1 and user_id = $3', [
    TEAM,
    id,
    user_id,
  ]);
}

/** Adds events of one type. The oldest one is of another type. */
async function addEvents(count: number): Promise<void> {
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select $1, 'evt_' || n,
       case when n = 1 then 'member.removed' else 'assignment.created' end,
       '{}', now() - interval '1 day' + n * interval '1 second', now()
     from generate_series(1, $2::int) n`,
    [TEAM, count],
  );
}

/**
 * Adds entries of a key and of a person in turn, who each do one thing only. The oldest entry is of
 * somebody else, and the next one is of the key, but does what the person does.
 */
async function addAuditEntries(count: number): Promise<void> {
  await client.query(
    `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
     select $1, 'aud_' || n, now() + n * interval '1 second',
       case when n = 1 then 'platform' when n % 2 = 0 then 'api_key' else 'user' end,
       case when n = 1 then 'svc_rare' when n % 2 = 0 then 'key_busy' else 'mem_busy' end,
       case
         when n = 1 then 'member.removed'
         when n > 2 and n % 2 = 0 then 'assignment.created'
         else 'case.created'
       end,
       'asg_' || n, 'req'
     from generate_series(1, $2::int) n`,
    [TEAM, count],
  );
}

/** Adds deliveries of two endpoints in turn. The oldest one of each is unlike the others. */
async function addDeliveries(count: number): Promise<void> {
  // Without the events that foreign keys ask for.
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
        last_attempt_at,
        error)
     select $1, 'whd_' || n, 'whe_' || n % 2, 'evt_' || n,
       case when n <= 2 then 'member.removed' else 'assignment.created' end,
       case when n <= 2 then 'ok' else 'gave_up' end,
       8, now() + n / 4 * interval '1 second', now(), 'timeout'
     from generate_series(1, $2::int) n`,
    [TEAM, count],
  );
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select $1, 'whd_w' || n, 'whe_waiting', 'evt_w' || n, 'assignment.created', 'pending', 0,
       now() - n * interval '1 second', now()
     from generate_series(1, $2::int) n`,
    [TEAM, count],
  );
  await client.query('reset session_replication_role');
}

/** The time before which a table has a few rows. */
async function fewBefore(table: 'audit_log' | 'webhook_delivery'): Promise<Date> {
  const { rows } = await client.query<{ created_at: Date }>(
    `select created_at
     from ${table}
     where team_id = $1 and id like $2
     order by created_at
     offset 5
     limit 1`,
    [TEAM, table === 'audit_log' ? 'aud%' : 'whd_%'],
  );
  const [oldest] = rows;
  if (!oldest) throw new Error(`${table} is empty`);
  return oldest.created_at;
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

  test('a step of a sweep reads so many rows, however many a connection has', async () => {
    const of = { teamId: TEAM, connectionId: 'paused' };
    const since = '2026-03-01T00:00:00.000Z';
    const steps: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => sweepDeals(tx, of, { since, after: '5' }),
      (tx) => sweepNotes(tx, of, { since, after: null }),
    ];
    for (const step of steps) expect(await read((recorder) => step(recorder as Tx))).toBe(2_000);
  });

  // Those near the position, with a look at the membership of each, and a page of the others.
  const NEAR = 8_000;
  test.each<[string, (db: Db) => Promise<unknown>]>([
    ['trainings', (db) => listTrainings(db, TEAM, PAGE, {})],
    ['trainings with a status', (db) => listTrainings(db, TEAM, PAGE, { status: 'scored' })],
    ['evaluations', (db) => listEvaluatedTrainings(db, TEAM, PAGE)],
    [
      'trainings with evaluations',
      (db) => listTrainings(db, TEAM, { ...PAGE, withEvaluations: true }, {}),
    ],
    [
      'evaluations with their trainings',
      (db) => listEvaluatedTrainings(db, TEAM, { ...PAGE, withEvaluations: true }),
    ],
  ])('%s of people who left are read for a while only', async (_, list) => {
    expect(await read(list)).toBeLessThanOrEqual(NEAR);
  });

  test('what a page includes is looked up for its rows only', async () => {
    const filters = { user_id: 'usr_big_member' };
    const list = (db: Db) => listTrainings(db, TEAM, { ...PAGE, withEvaluations: true }, filters);
    // The rows, their evaluations, and a few members.
    expect(await read(list)).toBeLessThanOrEqual(2 * PAGE.limit + 5);
  });

  test('trainings of a person with a rare status are found at once', async () => {
    const filters = { user_id: 'usr_big_member', status: 'unheard_of' };
    const list = (db: Db) => listTrainings(db, TEAM, PAGE, filters);
    expect(await read(list)).toBeLessThanOrEqual(5);
  });

  test('trainings with a status that hardly any has are found at once', async () => {
    const filters = { status: 'unheard_of' };
    const list = (db: Db) => listTrainings(db, TEAM, PAGE, filters);
    expect(await read(list)).toBeLessThanOrEqual(5);
  });

  test.each([
    { assignment_id: 'asg_gone' },
    { assignment_id: 'asg_gone', status: 'scored' },
    { assignment_id: 'asg_gone', user_id: 'usr_big_gone' },
    { assignment_id: 'asg_gone', user_id: 'usr_big_member' },
    { assignment_id: 'asg_gone', user_id: 'usr_big_member', status: 'scored' },
  ])('trainings of %o, an assignment of who left, are not read', async (filters) => {
    const list = (db: Db) => listTrainings(db, TEAM, PAGE, filters);
    expect(await read(list)).toBeLessThanOrEqual(10);
    const found = await listTrainings(db, TEAM, PAGE, filters);
    expect(found).toEqual({ rows: [], reached: null });
  });

  test.each([
    { actor_kind: 'platform' },
    { actor_id: 'svc_rare' },
    { actor_kind: 'platform', actor_id: 'svc_rare' },
    { actor_id: 'svc_rare', actor_kind: 'platform', action: 'member.removed' },
    { action: 'member.removed' },
    { action: 'unheard.of' },
    { target_id: 'asg_1' },
    { target_id: 'asg_1', actor_kind: 'platform' },
  ])('a search of the audit log for %o reads what it finds', async (filters) => {
    expect(await read((db) => audit.listEntries(db, TEAM, PAGE, filters))).toBeLessThanOrEqual(5);
  });

  test('the audit log reads a page where Postgres knows nothing of it', async () => {
    await client.query('begin');
    await client.query(
      `delete from pg_statistic using pg_class c
       where starelid = c.oid and c.relname like 'audit_log%'`,
    );
    for (const filters of [{}, { since: '2020-01-01T00:00:00.000Z' }])
      expect(await read((db) => audit.listEntries(db, TEAM, PAGE, filters))).toBeLessThan(100);
    await client.query('rollback');
  });

  // What a search may read of one range.
  const READ_MAX = 10_000;

  test.each([
    { actor_id: 'key_busy', action: 'member.removed' },
    { actor_id: 'svc_rare', action: 'case.created' },
    { actor_kind: 'api_key', actor_id: 'key_busy', target_id: 'asg_2' },
  ])('a rare one among %o is found at once', async (filters) => {
    const most = 2 * READ_MAX + 10;
    expect(await read((db) => audit.listEntries(db, TEAM, PAGE, filters))).toBeLessThan(most);
    const { reached } = await audit.listEntries(db, TEAM, PAGE, filters);
    expect(reached).toBeNull();
  });

  test.each(['member.removed', 'ping'])(
    'events of type %s are sought for a while',
    async (type) => {
      const list = (db: Db) => listEvents(db, TEAM, PAGE, { type });
      expect(await read(list)).toBeLessThan(2 * READ_MAX + 10);
    },
  );

  test('events of a frequent type are found on about a page', async () => {
    const list = (db: Db) => listEvents(db, TEAM, PAGE, { type: 'assignment.created' });
    expect(await read(list)).toBeLessThan(5 * PAGE.limit);
  });

  test('a search of the audit log for what is frequent alone reads for a while', async () => {
    const filters = { actor_id: 'key_busy', action: 'case.created' };
    const most = 3 * READ_MAX + 10;
    expect(await read((db) => audit.listEntries(db, TEAM, PAGE, filters))).toBeLessThan(most);
  });

  test.each([
    { status: 'ok' },
    { status: 'retrying' },
    { status: 'pending' },
    { event_type: 'member.removed' },
    { status: 'gave_up', event_type: 'member.removed' },
    { status: 'failed', event_type: 'member.removed' },
    { status: 'failed', event_type: 'ping', endpoint_id: 'whe_1' },
    { status: 'pending', event_type: 'member.removed' },
    { status: 'ok', endpoint_id: 'whe_1' },
  ] as const)('a search of deliveries for %o reads for a while only', async (filters) => {
    // What it looks through, the ends of that, and for pending ones those that it counts.
    const most = 3 * READ_MAX + 100;
    const list = (db: Db) => deliveries.listDeliveries(db, TEAM, PAGE, filters);
    expect(await read(list)).toBeLessThan(most);
  });

  // An index can pass entries that count as no rows: those that are newer than the end of the time.
  test('what is newer than a time is not passed, entry by entry', async () => {
    const until = (await fewBefore('audit_log')).toISOString();
    const untilDelivery = (await fewBefore('webhook_delivery')).toISOString();
    const lists: ((db: Db) => Promise<unknown>)[] = [
      (db) => audit.listEntries(db, TEAM, PAGE, { until }),
      (db) => audit.listEntries(db, TEAM, PAGE, { until, action: 'case.created' }),
      (db) => deliveries.listDeliveries(db, TEAM, PAGE, { until: untilDelivery }),
      (db) => deliveries.listDeliveries(db, TEAM, PAGE, { until: untilDelivery, status: 'ok' }),
      (db) =>
        listTrainings(
          db,
          TEAM,
          { ...PAGE, until: '2026-02-01T00:05:00.000Z' },
          {
            user_id: 'usr_big_gone',
          },
        ),
    ];
    for (const list of lists)
      expect(blocksRead(await explain(client, list, mode))).toBeLessThan(100);
  });

  test('a search of deliveries for what is frequent reads about a page', async () => {
    const list = (db: Db) => deliveries.listDeliveries(db, TEAM, PAGE, { status: 'gave_up' });
    // Up to 201 of each endpoint, and the end of the share of the one that has none.
    expect(await read(list)).toBeLessThan(3 * PAGE_LIMIT_MAX);
  });

  test.each(['custom', 'generic'] as const)(
    'the health of endpoints reads what it counts, with a %s plan',
    async (mode) => {
      const health = (db: Db) => listHealth(db, TEAM, new Date(0));
      const plan = await explain(client, health, mode);
      // The last ones of three endpoints, the failed ones of two, the waiting ones of one.
      expect(rowsRead(plan)).toBeLessThan(3 * RECENT + 3 * COUNTED_MAX + 10);
    },
  );

  test.each(['custom', 'generic'] as const)(
    'the backlog of an endpoint reads what it counts, with a %s plan',
    async (mode) => {
      const backlog = (db: Db) =>
        readBacklog(db, TEAM, { endpointId: 'whe_waiting', now: new Date() });
      expect(rowsRead(await explain(client, backlog, mode))).toBeLessThan(2 * COUNTED_MAX + 10);
    },
  );

  test('the mail about a pause finds the last failure among the youngest ones', async () => {
    const ids = { teamId: TEAM, memberId: 'mem_big_admin', endpointId: 'whe_0' };
    await client.query(`update webhook_endpoint set status = 'disabled_failures' where id = $1`, [
      ids.endpointId,
    ]);
    expect(await read((db) => findPauseMailRow(db, ids))).toBeLessThan(1_010);
    expect(await findPauseMailRow(db, ids)).toMatchObject({ error: 'timeout' });
  });

  // Once with deliveries that have all failed since Postgres last looked.
  test.each([
    ['2020-01-01', null, null],
    ['2020-01-01', 'assignment.created', null],
    ['2020-01-01', null, 'retrying'],
    ['2020-01-01', 'assignment.created', 'retrying'],
    ['2900-01-01', null, null],
    ['2900-01-01', 'assignment.created', null],
  ])('the count of a resend since %s of type %s and status %s is bounded', async (...what) => {
    const [since, eventType, status] = what;
    const wanted = { endpointId: 'whe_1', since, until: null, eventType, status };
    const counted = { ...wanted, at: new Date('2999-01-01'), countMax: 1_000 };
    await client.query('begin');
    await client.query('set local session_replication_role = replica');
    await client.query(
      `insert into webhook_delivery
         (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
       select $1, 'whd_new_' || n, 'whe_1', 'evt_new_' || n, 'assignment.created', 'gave_up', 8,
         '2900-01-02'::timestamptz + n * interval '1 second'
       from generate_series(1, 5000) n`,
      [TEAM],
    );
    const rows = await read((db) => resends.countFailed(db, TEAM, counted));
    await client.query('rollback');
    expect(rows).toBeLessThanOrEqual(1_010);
  });

  test.each([null, 'ping'])(
    'of failed tests, a resend of type %s passes a bounded number at a time',
    async (eventType) => {
      const wanted = { endpointId: 'whe_1', since: '2900-01-01', until: null, status: null };
      const counted = { ...wanted, eventType, at: new Date('2999-01-01'), countMax: 1_000 };
      const resend = { ...RESEND, event_type: eventType };
      const size = { limit: 500, room: 500, now: new Date('2999-01-01') };
      await client.query('begin');
      await client.query('set local session_replication_role = replica');
      await client.query(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
         select $1, 'whd_ping_' || n, 'whe_1', 'evt_ping_' || n, 'ping', 'gave_up', 1,
           '2900-01-02'::timestamptz + n * interval '1 second'
         from generate_series(1, $2::int) n`,
        [TEAM, HIDDEN],
      );
      const count = await read((db) => resends.countFailed(db, TEAM, counted));
      const batch = await read((db) =>
        resends.queueBatch(db as unknown as Tx, TEAM, { resend, ...size }),
      );
      await client.query('rollback');
      expect(count).toBeLessThanOrEqual(1_010 + PINGS_PASSED_MAX);
      // Each is found, and then locked.
      expect(batch).toBeLessThanOrEqual(2 * 500 + 10);
    },
  );

  test('the last resends are read from the end', async () => {
    // Most of them found nothing, so they ended when they were stored.
    await client.query('begin');
    await client.query(
      `insert into webhook_resend (team_id, id, endpoint_id, state, since, status, total, has_more,
         sent, created_at, finished_at)
       select $1, 'whr_' || lpad(n::text, 6, '0'), 'whe_1', 'done', now(), 'gave_up', 0, false, 0,
         now(), now()
       from generate_series(1, $2::int) n`,
      [TEAM, HIDDEN],
    );
    const rows = await read((db) => resends.listResends(db, TEAM));
    await client.query('rollback');
    // Each with its endpoint, of three.
    expect(rows).toBeLessThanOrEqual(4 * 50);
  });
});

/** Reads a list to its end. */
async function readIds(
  list: (query: PageQuery) => Promise<Page<{ readonly id: string }>>,
): Promise<{ readonly found: string[]; readonly pages: number }> {
  const found: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const { rows, nextCursor } = await list({ cursor, limit: 50 });
    found.push(...rows.map(({ id }) => id));
    cursor = nextCursor ?? undefined;
    pages += 1;
  } while (cursor !== undefined);
  return { found, pages };
}

describe('a search that looks through more than a page may read', () => {
  test('leads on until all entries of the audit log are found', async () => {
    const filters = { actor_id: 'key_busy', action: 'case.created' };
    const { found, pages } = await readIds((query) =>
      listEntries(db, TEAM, { ...query, ...filters }),
    );
    expect(found).toEqual(['aud_2']);
    expect(pages).toBeGreaterThan(1);
  });

  test('leads on until all events of a type are found', async () => {
    const { found, pages } = await readIds((query) =>
      events.listEvents(db, TEAM, { ...query, type: 'member.removed' }, new Date()),
    );
    expect(found).toEqual(['evt_1']);
    expect(pages).toBe(5);
    const since = new Date(0).toISOString();
    const none = await readIds((query) =>
      events.listEvents(db, TEAM, { ...query, type: 'ping', since }, new Date()),
    );
    expect(none.found).toEqual([]);
  });

  test('leads on until all deliveries are found', async () => {
    const search = (filters: object) =>
      readIds((query) => listDeliveries(db, TEAM, { ...query, ...filters }));
    const { found, pages } = await search({ status: 'ok' });
    expect(found).toEqual(['whd_2', 'whd_1']);
    expect(pages).toBeGreaterThan(2);
    expect((await search({ event_type: 'member.removed' })).found).toEqual(['whd_2', 'whd_1']);
    expect((await search({ status: 'ok', endpoint_id: 'whe_0' })).found).toEqual(['whd_2']);
    expect((await search({ status: 'retrying' })).found).toEqual([]);
    const { rows } = await client.query<{ id: string }>(
      `select id from webhook_delivery where status = 'pending' order by created_at desc, id desc`,
    );
    expect((await search({ status: 'pending' })).found).toEqual(rows.map(({ id }) => id));
  });
});

describe('a filter of many members', () => {
  let members: Client;

  beforeAll(async () => {
    await loadTestSeed(database, makeSeed([makeTeam('crowd', {})]));
    members = await openWhereTeamIs(database.url, MEMBERS);
    await members.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select $1, 'mem_' || n, 'guest_' || n || '@a.test', 'member', 'invited',
         now() + n * interval '1 second'
       from generate_series(1, $2::int) n`,
      [MEMBERS, HIDDEN],
    );
    await members.query('vacuum analyze');
    return () => members.end();
  });

  test.each<Mode>(['generic', 'custom'])(
    'by role reads 10,000 for a page, by address the one, with a %s plan',
    async (mode) => {
      const found = (db: Db) =>
        searchMembers(db, MEMBERS, PAGE, { role: 'admin', sort: 'newest', byAddress: false });
      expect(rowsRead(await explain(members, found, mode))).toBeLessThanOrEqual(10_000);
      const one = (db: Db) => findByAddress(db, MEMBERS, PAGE, 'GUEST_7@a.test');
      expect(rowsRead(await explain(members, one, mode))).toBe(1);
    },
  );

  describe.each(SORTS)('a page in the order %s', (sort) => {
    test.each<Mode>(['generic', 'custom'])('reads about a page, with a %s plan', async (mode) => {
      const all = { sort, byAddress: true };
      const { rows } = await searchMembers(db, MEMBERS, { limit: 1_000, after: null }, all);
      const last = rows.at(-1);
      if (!last) throw new Error('the team has no member');
      const place = positionIn(sort)(last);
      const after = sort === 'address' ? { ...place, id: last.email } : place;
      for (const slice of [PAGE, { ...PAGE, after }]) {
        const read = (recorder: Db) => searchMembers(recorder, MEMBERS, slice, all);
        const plan = await explain(members, read, mode);
        // An address is also that of the position itself.
        expect(rowsRead(plan)).toBeLessThanOrEqual(PAGE.limit + 1);
      }
    });
  });

  describe.each(SORTS)('a filter in the order %s', (sort) => {
    const filters = { role: 'admin', status: 'invited', text: 'guest_77' } as const;
    test.each(Object.entries(filters))('reads 10,000 for a page: %s = %s', async (name, value) => {
      const wanted = { [name]: value, sort, byAddress: true };
      const search = (recorder: Db) => searchMembers(recorder, MEMBERS, PAGE, wanted);
      const rows = rowsRead(await explain(members, search, 'custom'));
      expect(rows).toBeLessThanOrEqual(READ_MAX);
    });
  });

  test('by role leads on until all are found', async () => {
    const { found, pages } = await readIds((query) =>
      listMembers(db, MEMBERS, privacyOf(SHOWN), { ...query, role: 'owner' }),
    );
    expect(found).toEqual(['mem_crowd_owner']);
    expect(pages).toBe(3);
  });
});

describe('the owners of a page of deals', () => {
  const SALES = 'team_sales';
  const SELLERS = 1_000;
  let sales: Client;

  beforeAll(async () => {
    await loadTestSeed(
      database,
      makeSeed([makeTeam('sales', { crm_connections: [{ id: 'crm_sales' }] })]),
    );
    sales = await openWhereTeamIs(database.url, SALES);
    await sales.query(
      `insert into person (team_id, id)
       select $1, 'usr_' || n
       from generate_series(1, $2::int) n`,
      [SALES, SELLERS],
    );
    await sales.query(
      `insert into member (team_id, id, user_id, email, role, status, created_at)
       select $1, 'mem_' || n, 'usr_' || n, 'seller_' || n || '@a.test', 'member', 'active', now()
       from generate_series(1, $2::int) n`,
      [SALES, SELLERS],
    );
    await sales.query('vacuum analyze');
    return () => sales.end();
  });

  test.each<Mode>(['generic', 'custom'])(
    'are the only members that are read, with a %s plan',
    async (mode) => {
      const owners = ['SELLER_7@a.test', 'seller_7@a.test', 'seller_8@a.test', 'x@a.test', null];
      const deals = owners.map((owner_email, index) => ({
        ...PAGE_DEAL,
        external_id: `${index}`,
        owner_email,
      }));
      const of = { teamId: SALES, connectionId: 'crm_sales' };
      const upsert = async (recorder: Db) => {
        const send: Tx['send'] = (sent, values) => void recorder.query(sent, values);
        upsertDeals({ send } as Tx, of, { deals, at: new Date() });
      };
      const plan = await explain(sales, upsert, mode);
      const reads = plan.filter((node) => node['Relation Name'] === 'member');
      expect(rowsRead(reads)).toBeLessThanOrEqual(owners.length);
    },
  );
});

describe('trainings of a team with many members', () => {
  const PEOPLE = 'team_people';
  const ROWS = 20_000;
  /** From so many members on, a list does not ask for each. */
  const ASKED_MAX = 5_000;
  let people: Client;

  beforeAll(async () => {
    const gone = makeMember('people', 'gone', { status: 'ended' });
    await loadTestSeed(database, makeSeed([makeTeam('people', { members: [gone] })]));
    people = await openWhereTeamIs(database.url, PEOPLE);
    // Without the people that foreign keys ask for.
    await people.query('set session_replication_role = replica');
    // The newest are of who left. Those of the others are between them, and before them.
    await people.query(
      `insert into training (team_id, id, user_id, status, created_at)
       select $1, 'trn_' || n,
         case when n <= 3 or n = $2::int / 2 then 'usr_people_member' else 'usr_people_gone' end,
         'scored', timestamptz '2026-01-01Z' + n / 3 * interval '1 minute'
       from generate_series(1, $2::int) n`,
      [PEOPLE, ROWS],
    );
    await people.query(
      `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
       select team_id, id, user_id, created_at, created_at
       from training
       where team_id = $1`,
      [PEOPLE],
    );
    return () => people.end();
  });

  const addMembers = async (count: number, from: number): Promise<void> => {
    await people.query(
      `insert into member (team_id, id, user_id, email, role, status, created_at)
       select $1, 'mem_p' || n, 'usr_p' || n, 'p' || n || '@a.test', 'member', 'active', now()
       from generate_series($3::int, $3::int + $2::int - 1) n`,
      [PEOPLE, count, from],
    );
    await people.query('vacuum analyze');
  };

  const slice = PAGE;
  const LISTS: [
    string,
    (db: Db) => Promise<unknown>,
    (query: PageQuery) => Promise<Page<{ readonly id: string }>>,
  ][] = [
    [
      'trainings',
      (db) => listTrainings(db, PEOPLE, slice, {}),
      (query) => trainings.listTrainings(db, PEOPLE, query),
    ],
    [
      'trainings with a status',
      (db) => listTrainings(db, PEOPLE, slice, { status: 'scored' }),
      (query) => trainings.listTrainings(db, PEOPLE, { ...query, status: 'scored' }),
    ],
    [
      'trainings with evaluations',
      (db) => listTrainings(db, PEOPLE, { ...slice, withEvaluations: true }, {}),
      (query) => trainings.listTrainings(db, PEOPLE, { ...query, include: 'evaluation' }),
    ],
    [
      'evaluations',
      (db) => listEvaluatedTrainings(db, PEOPLE, slice),
      (query) => evaluations.listEvaluated(db, PEOPLE, query),
    ],
  ];
  const SHOWN_IDS = [`trn_${ROWS / 2}`, 'trn_3', 'trn_2', 'trn_1'];

  test.each([
    // A look at each member and at the newest training of each, in one page.
    ['asks for each of 4,000', 4_000, 1, 1, 2 * ASKED_MAX + 4_000],
    // 10,000 trainings with a look at the member of each, and where they end.
    ['reads 10,000 for a page of more', 2_000, 4_001, 3, 30_000 + ASKED_MAX + 4_000],
  ])('of many trainings %s', async (_, count, from, pages, most) => {
    await addMembers(count, from);
    for (const [name, list, read] of LISTS) {
      for (const mode of ['generic', 'custom'] as const)
        expect(rowsRead(await explain(people, list, mode))).toBeLessThanOrEqual(most);
      expect({ name, ...(await readIds(read)) }).toEqual({ name, found: SHOWN_IDS, pages });
    }
  });
});

describe('a filter of many assignments', () => {
  const BUSY = 'team_busy';
  let busy: Client;

  beforeAll(async () => {
    const names = ['one', 'two'];
    const members = names.map((name) => makeMember('busy', name));
    await loadTestSeed(database, makeSeed([makeTeam('busy', { members })]));
    busy = await openWhereTeamIs(database.url, BUSY);
    // The oldest ones are unlike the others. Each tenth of those has an id elsewhere, of two.
    await busy.query(
      `insert into assignment
         (team_id, id, member_id, status, title, due_date, created_at, updated_at, external_ref)
       select $1, 'asg_' || n, case when n <= 2 then 'mem_busy_two' else 'mem_busy_one' end,
         case when n <= 3 then 'revoked' when n % 2 = 0 then 'open' else 'done' end, 'Practise',
         case when n <= 4 then date '2026-01-01' else '2027-01-01' end,
         timestamptz '2026-01-01Z' + n / 3 * interval '1 minute',
         timestamptz '2026-06-01Z' - n / 3 * interval '1 minute',
         case when n % 10 = 0 then json_build_object('id', 'ext_' || n % 20) end
       from generate_series(1, $2::int) n`,
      [BUSY, 2 * HIDDEN],
    );
    await busy.query('vacuum analyze');
    return () => busy.end();
  });

  // A page, what its index has after it, and the recipients.
  const ABOUT_A_PAGE = 4 * PAGE_LIMIT_MAX + 10;
  test.each<[number, AssignmentFilters]>([
    [ABOUT_A_PAGE, { status: 'open' }],
    [ABOUT_A_PAGE, { member_id: 'mem_busy_one' }],
    [ABOUT_A_PAGE, { member_id: 'mem_busy_two' }],
    [ABOUT_A_PAGE, { member_id: 'mem_busy_one', status: 'done' }],
    [ABOUT_A_PAGE, { member_id: 'mem_busy_one', status: 'revoked' }],
    [ABOUT_A_PAGE, { member_id: 'mem_busy_two', due_before: '2026-06-01', status: 'revoked' }],
    [ABOUT_A_PAGE, { external_ref_id: 'ext_0' }],
    [ABOUT_A_PAGE, { external_ref_id: 'ext_none' }],
    [ABOUT_A_PAGE, { updated_since: '2026-01-01T00:00:00.000Z' }],
    [ABOUT_A_PAGE, { updated_since: '2026-01-01T00:00:00.000Z', status: 'open' }],
    // 10,000 of a range, and the entries of its index again to know where it stopped.
    [20_100, { status: 'revoked' }],
    [20_100, { due_before: '2026-06-01' }],
    [20_100, { status: 'revoked', due_before: '2026-06-01' }],
    [20_100, { updated_since: '2026-01-01T00:00:00.000Z', member_id: 'mem_nobody' }],
    [20_100, { external_ref_id: 'ext_0', status: 'revoked' }],
    [60_100, { member_id: 'mem_busy_one', due_before: '2026-06-01' }],
  ])('reads at most %i rows for %o, with statistics and without', async (most, filters) => {
    const found = (db: Db) => searchAssignments(db, BUSY, PAGE, filters);
    await busy.query('begin');
    await busy.query(
      `delete from pg_statistic using pg_class c
       where starelid = c.oid and c.relname like 'assignment%'`,
    );
    expect(rowsRead(await explain(busy, found, 'custom'))).toBeLessThanOrEqual(most);
    await busy.query('rollback');
    for (const mode of ['generic', 'custom'] as const) {
      const plan = await explain(busy, found, mode);
      expect(rowsRead(plan)).toBeLessThanOrEqual(most);
      const scans = plan.filter((node) => node['Relation Name'] === 'assignment');
      expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    }
  });

  test('reads about a page of a member who has all of the team', async () => {
    await busy.query('begin');
    await busy.query(
      `update assignment set member_id = 'mem_busy_one', status = 'open' where team_id = $1`,
      [BUSY],
    );
    await busy.query('analyze assignment');
    const list = (db: Db) => searchAssignments(db, BUSY, PAGE, { member_id: 'mem_busy_one' });
    expect(rowsRead(await explain(busy, list, 'custom'))).toBeLessThanOrEqual(ABOUT_A_PAGE);
    await busy.query('rollback');
  });

  test('leads on until all are found', async () => {
    const search = (filters: AssignmentFilters) =>
      readIds((query) => assignments.listAssignments(db, BUSY, { ...query, ...filters }));
    expect(await search({ status: 'revoked' })).toEqual({
      found: ['asg_3', 'asg_2', 'asg_1'],
      pages: 5,
    });
    const due = await search({ due_before: '2026-06-01', member_id: 'mem_busy_one' });
    expect(due.found).toEqual(['asg_4', 'asg_3']);
    const since = '2026-01-01T00:00:00.000Z';
    const changed = await search({ updated_since: since, status: 'revoked' });
    expect(changed.found).toEqual(['asg_2', 'asg_1', 'asg_3']);
    const all = await search({ member_id: 'mem_busy_two' });
    expect(all).toEqual({ found: ['asg_2', 'asg_1'], pages: 1 });
  });
});
