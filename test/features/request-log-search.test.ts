// A search of the request log reads so many calls for a page at most, whatever it finds. The team
// has made very many. The figures are rows and blocks, so they are the same on any machine.
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Page } from '../../src/core/page.ts';
import type { Db } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { oldestShown, READ_MAX, SLOTS } from '../../src/features/requests/rules.ts';
import { listRequests, type RequestQuery } from '../../src/features/requests/service.ts';
import type { RequestRow } from '../../src/features/requests/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { blocksRead, explain, rowsRead, type Mode } from '../support/plans.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import { openPatiently } from '../support/wire.ts';

const TEAM = 'team_big';
const CALLS = Number(process.env['ROWS'] ?? 250_000);
const DAY_MS = 86_400_000;
const LIMIT = 50;

/** The calls fill six days. Seven have the same millisecond, so a page can end between them. */
const AT_ONCE = 7;
const STEP_MS = Math.floor((6 * DAY_MS * AT_ONCE) / CALLS);
const NOW = new Date();
const END = new Date(NOW.getTime() - 60_000);
const clock = { ...systemClock, now: () => NOW, override: () => NOW };
const at = (n: number): Date =>
  new Date(END.getTime() - Math.floor((CALLS - n) / AT_ONCE) * STEP_MS);
/** The only call of its key, of its status and of its error: the oldest one. */
const RARE = { key_id: 'key_leaked', status_class: '5xx', error_code: 'internal' } as const;
/** Every so many calls, one was refused. */
const REFUSED = 700;

let database: TestDatabase;
let client: Client;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([makeTeam('big')]));
  client = await openWhereTeamIs(database.url, TEAM);
  await addCalls(1, CALLS);
  await client.query('vacuum analyze request_log');
  db = openPatiently(database.url);
});

afterAll(async () => {
  await client.end();
  await db.close();
  await database.drop();
});

/** Adds calls from one number to another. Those behind `CALLS` are the newest. */
async function addCalls(from: number, to: number): Promise<void> {
  await client.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms, error_code)
     select $1, ms / 86400000 % $5,
       overlay(lpad(to_hex(ms), 12, '0') placing '-' from 9 for 0) || '-7000-8000-'
         || lpad(to_hex(n), 12, '0'),
       to_timestamp(ms / 1000.0), case when n = 1 then 'key_leaked' else 'key_' || n % 3 end,
       'GET', '/users', case when n = 1 then 500 when n % $6 = 0 then 409 else 200 end, 1,
       case when n = 1 then 'internal' when n % $6 = 0 then 'conflict' end
     from (
       select n, $4::bigint - floor(($7 - n) / $8::float)::bigint * $9 as ms
       from generate_series($2::int, $3::int) n
     ) calls`,
    [TEAM, from, to, END.getTime(), SLOTS, REFUSED, CALLS, AT_ONCE, STEP_MS],
  );
}

const idOf = (n: number): string => {
  const ms = at(n).getTime().toString(16).padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
};

const search = (query: Partial<RequestQuery>) => (db: Db) =>
  listRequests(db, clock, TEAM, { limit: LIMIT, ...query });

/** Reads a search to its end. `between` runs after each page. */
async function readAll(
  query: Partial<RequestQuery>,
  between: (page: number) => Promise<void> = async () => undefined,
): Promise<{ readonly found: string[]; readonly pages: number }> {
  const found: string[] = [];
  let [pages, cursor]: [number, string | undefined] = [0, undefined];
  let reached = NOW.toISOString();
  do {
    const page: Page<RequestRow> = await search({ ...query, cursor })(db);
    found.push(...page.rows.map(({ id }) => id));
    const to: string = page.searchedBackTo ?? page.rows.at(-1)?.created_at ?? reached;
    expect(to <= reached).toBe(true);
    [reached, cursor, pages] = [to, page.nextCursor ?? undefined, pages + 1];
    await between(pages);
  } while (cursor !== undefined);
  return { found, pages };
}

/** The first call of each partition, since they are merged. */
const ROWS_MAX = READ_MAX + SLOTS;
/** At least ten calls lie in a block. And the way into each index. */
const BLOCKS_MAX = READ_MAX / 10 + 10 * SLOTS;

const NOTHING: Record<string, Partial<RequestQuery>> = {
  'an unknown key': { key_id: 'key_none' },
  'the oldest key': { key_id: RARE.key_id },
  'a class of status': { status_class: RARE.status_class },
  'a status': { status: 503 },
  'an error': { error_code: RARE.error_code },
  'a route': { route: '/crm/deals' },
  'several filters': { ...RARE, status: 500, route: '/users' },
  'a key until long ago': { key_id: 'key_none', until: at(CALLS / 10).toISOString() },
  'a key since long ago': { key_id: 'key_none', since: at(CALLS / 10).toISOString() },
};

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  const plan = (query: Partial<RequestQuery>) => explain(client, search(query), mode);

  test.each(Object.entries(NOTHING))('a search for %s reads a bound of calls', async (_, query) => {
    const nodes = await plan(query);
    expect(rowsRead(nodes)).toBeLessThanOrEqual(ROWS_MAX);
    expect(blocksRead(nodes)).toBeLessThan(BLOCKS_MAX);
  });

  test('so does one that goes on, far from where it began', async () => {
    const first = { key_id: 'key_none', until: at(CALLS / 10).toISOString() };
    const { nextCursor } = await search(first)(db);
    for (const query of [{ key_id: 'key_none' }, first]) {
      const nodes = await plan({ ...query, cursor: nextCursor ?? '' });
      expect(rowsRead(nodes)).toBeLessThanOrEqual(ROWS_MAX);
      expect(blocksRead(nodes)).toBeLessThan(BLOCKS_MAX);
    }
  });

  test('so does one where Postgres knows nothing of the table', async () => {
    await client.query('begin');
    await client.query(
      `delete from pg_statistic using pg_class c
       where starelid = c.oid and (c.relname like 'day_%' or c.relname like 'request_log%')`,
    );
    for (const query of Object.values(NOTHING))
      expect(rowsRead(await plan(query))).toBeLessThanOrEqual(ROWS_MAX);
    await client.query('rollback');
  });

  test('what is frequent is found on about a page, and so are all calls', async () => {
    const until = at(CALLS / 10).toISOString();
    const frequent = [{}, { status_class: '2xx' }, { until }, { key_id: 'key_1', until }] as const;
    for (const query of frequent) {
      const nodes = await plan(query);
      expect(rowsRead(nodes)).toBeLessThanOrEqual(4 * LIMIT + SLOTS);
      expect(blocksRead(nodes)).toBeLessThan(20 * SLOTS);
    }
  });

  test('one call is found by its id at once', async () => {
    expect(rowsRead(await plan({ request_id: idOf(1) }))).toBeLessThanOrEqual(AT_ONCE);
  });
});

describe('a search that goes on by its cursors', () => {
  test('finds the oldest call, and then ends', async () => {
    expect(await readAll(RARE)).toEqual({
      found: [idOf(1)],
      pages: Math.floor(CALLS / READ_MAX) + 1,
    });
  });

  test('ends where there is nothing', async () => {
    const { found, pages } = await readAll({ key_id: 'key_none' });
    expect(found).toEqual([]);
    expect(pages).toBe(Math.floor(CALLS / READ_MAX) + 1);
  });

  test('finds each call once while others arrive', async () => {
    const [since, until] = [at(CALLS * 0.4), at(CALLS * 0.9)].map((time) => time.toISOString());
    const wanted = await client.query<{ id: string }>(
      `select id
       from request_log
       where team_id = $1 and created_at >= $2 and created_at < $3 and status = 409
       order by created_at desc, id desc`,
      [TEAM, since, until],
    );
    expect(wanted.rows.length).toBeGreaterThan(CALLS / 2 / REFUSED - 10);
    const query = { status_class: 'errors', error_code: 'conflict' } as const;
    const { found, pages } = await readAll({ ...query, since, until });
    expect(found).toEqual(wanted.rows.map(({ id }) => id));
    expect(pages).toBeGreaterThan(5);

    let last = CALLS;
    const meanwhile = await readAll({ ...query, since }, async () => {
      await addCalls(last + 1, last + REFUSED);
      last += REFUSED;
    });
    expect(new Set(meanwhile.found).size).toBe(meanwhile.found.length);
    expect(meanwhile.found.slice(-found.length)).toEqual(found);
    expect(meanwhile.found.filter((id) => id > idOf(CALLS))).toEqual([]);
    await client.query('delete from request_log where team_id = $1 and created_at > $2', [
      TEAM,
      END,
    ]);
  });

  test('ends a page where it has looked, or where it is full', async () => {
    const none = await search({ key_id: 'key_none' })(db);
    expect(none).toMatchObject({
      rows: [],
      searchedBackTo: at(CALLS - READ_MAX + 1).toISOString(),
    });
    const full = await search({ key_id: 'key_1' })(db);
    expect(full.rows).toHaveLength(LIMIT);
    expect(full.searchedBackTo ?? null).toBeNull();
    const one = await search({ key_id: 'key_none', since: at(CALLS).toISOString() })(db);
    expect(one).toEqual({ rows: [], nextCursor: null });
  });

  test.each([
    ['an unknown text', 'nonsense'],
    ['an id of another time', 'ffffffff-ffff-7000-8000-000000000001'],
    ['an id before those that are shown', '00000000-0001-7000-8000-000000000001'],
  ])('finds nothing by %s', async (_, request_id) => {
    expect(await search({ request_id })(db)).toEqual({ rows: [], nextCursor: null });
  });

  test('finds an id only within the time that is asked for', async () => {
    const ids = async (query: Partial<RequestQuery>) =>
      (await search({ request_id: idOf(1), ...query })(db)).rows.map(({ id }) => id);
    const [time, later] = [at(1), new Date(at(1).getTime() + 1)].map((one) => one.toISOString());
    expect(at(1) > oldestShown(NOW)).toBe(true);
    expect(await ids({})).toEqual([idOf(1)]);
    expect(await ids({ since: time, until: later })).toEqual([idOf(1)]);
    expect(await ids({ until: time })).toEqual([]);
    expect(await ids({ since: later })).toEqual([]);
    expect(await ids({ key_id: 'key_0' })).toEqual([]);
  });
});

// Behind all others: what is rolled back stays in the table until it is vacuumed.
test.each<Mode>(['generic', 'custom'])(
  'calls that came since Postgres last looked are found on about a page, with a %s plan',
  async (mode) => {
    await client.query('begin');
    await addCalls(CALLS + 1, CALLS + 30_000);
    const since = at(CALLS + 1).toISOString();
    for (const query of [{ since }, { since, status_class: '2xx' }] as const) {
      const nodes = await explain(client, search(query), mode);
      expect(rowsRead(nodes)).toBeLessThanOrEqual(2 * LIMIT + SLOTS);
    }
    await client.query('rollback');
  },
);
