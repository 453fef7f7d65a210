// Pages of rows so large that a page ends before its limit. Each list goes on where it ended.
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGE_LIMIT_MAX, PAGE_MAX_BYTES, type Page, type PageQuery } from '../../src/core/page.ts';
import type { Db } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import * as assignments from '../../src/features/assignments/service.ts';
import * as store from '../../src/features/assignments/store.ts';
import * as cases from '../../src/features/cases/service.ts';
import { listCases } from '../../src/features/cases/store.ts';
import * as crm from '../../src/features/crm/service.ts';
import * as evaluations from '../../src/features/evaluations/service.ts';
import * as trainings from '../../src/features/trainings/service.ts';
import { listTrainings } from '../../src/features/trainings/store.ts';
import { loadTestSeed } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { blocksRead, explain } from '../support/plans.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';
import { openPatiently } from '../support/wire.ts';

const PAGE = { limit: 51, after: null };

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openPatiently(database.url);
});

afterAll(async () => {
  await db.close();
  await database.drop();
});

describe('a page of very large rows', () => {
  const LARGE = 'team_large';
  const ROWS = 120;
  let client: Client;
  /** JSON of 29 KB that does not get smaller when it is stored. */
  const NUMBERED = `generate_series(1, $2::int) n
     cross join lateral (
       select json_build_object('n', string_agg(md5(n || '/' || k), '')) as json
       from generate_series(1, 900) k
     ) j`;

  beforeAll(async () => {
    const team = makeTeam('large', { crm_connections: [{ id: 'open' }] });
    await loadTestSeed(database, makeSeed([team]));
    client = await openWhereTeamIs(database.url, LARGE);
    const each = async (text: string): Promise<void> => {
      await client.query(text, [LARGE, ROWS]);
    };
    const created = `timestamptz '2026-01-01Z' + n / 3 * interval '1 minute'`;
    await each(
      `insert into training_case
         (team_id, id, user_id, fields, external_ref, json_bytes, created_at)
       select $1, 'cas_' || n, 'usr_large_member', json, json, 2 * octet_length(json::text),
         ${created}
       from ${NUMBERED}`,
    );
    await each(
      `insert into training
         (team_id, id, user_id, status, external_ref, json_bytes, created_at)
       select $1, 'trn_' || n, 'usr_large_member', 'scored', json, octet_length(json::text),
         ${created}
       from ${NUMBERED}`,
    );
    await each(
      `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
       select team_id, id, user_id, created_at, created_at
       from training
       where team_id = $1 and $2::int > 0`,
    );
    await each(
      `insert into assignment
         (team_id, id, member_id, status, title, note, external_ref, created_at, updated_at)
       select $1, 'asg_' || n, 'mem_large_member', 'open', 'Practise', repeat('€', 10000),
         case when n % 2 = 0 then json_build_object('id', 'all') end, ${created}, ${created}
       from generate_series(1, $2::int) n`,
    );
    await each(
      `insert into crm_deal
         (team_id, id, connection_id, external_id, outcome, lost_reason, amount, currency,
          close_date, created_at)
       select $1, 'deal_' || n, 'open', n, 'lost',
         case when n % 4 = 0 then repeat('€', 10000) end,
         case when n % 4 = 1 then repeat('9', 30000) end,
         case when n % 4 = 2 then repeat('€', 10000) end,
         case when n % 4 = 3 then repeat('€', 10000) end,
         ${created}
       from generate_series(1, $2::int) n`,
    );
    await each(
      `insert into crm_objection
         (team_id, id, deal_id, connection_id, category, text, lang, created_at)
       select $1, 'obj_' || n, 'deal_' || n, 'open', 'price', repeat('€', 10000), 'de', ${created}
       from generate_series(1, $2::int) n`,
    );
    await client.query('vacuum analyze');
    return () => client.end();
  });

  type List = (query: PageQuery) => Promise<Page<{ readonly id: string }>>;

  /** Reads a list to its end. Returns the ids and the size of each page. */
  async function readAll(list: List, limit: number) {
    const pages: { ids: string[]; bytes: number }[] = [];
    let cursor: string | undefined;
    do {
      const { rows, nextCursor } = await list({ cursor, limit });
      const bytes = Buffer.byteLength(JSON.stringify(rows));
      pages.push({ ids: rows.map(({ id }) => id), bytes });
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    return pages;
  }

  test.each<[string, List]>([
    ['cases', (query) => cases.listCases(db, LARGE, query)],
    [
      'cases of a person',
      (query) => cases.listCases(db, LARGE, { ...query, user_id: 'usr_large_member' }),
    ],
    ['trainings', (query) => trainings.listTrainings(db, LARGE, query)],
    [
      'trainings of a person',
      (query) => trainings.listTrainings(db, LARGE, { ...query, user_id: 'usr_large_member' }),
    ],
    ['evaluations', (query) => evaluations.listEvaluated(db, LARGE, query)],
    ...(['evaluation'] as const).flatMap((include): [string, List][] => [
      [
        'trainings with evaluations',
        (query) => trainings.listTrainings(db, LARGE, { ...query, include }),
      ],
      [
        'evaluations with their trainings',
        (query) => evaluations.listEvaluated(db, LARGE, { ...query, include }),
      ],
    ]),
    ['assignments', (query) => assignments.listAssignments(db, LARGE, query)],
    [
      'assignments that have changed',
      (query) =>
        assignments.listAssignments(db, LARGE, { ...query, updated_since: '2025-01-01T00:00:00Z' }),
    ],
    [
      'assignments of a member with a status',
      (query) =>
        assignments.listAssignments(db, LARGE, {
          ...query,
          member_id: 'mem_large_member',
          status: 'open',
        }),
    ],
    ['deals', (query) => crm.listDeals(db, LARGE, query)],
    ['objections', (query) => crm.listObjections(db, LARGE, query)],
  ])('of %s ends early; its cursor leads to the others', async (_, list) => {
    const whole = await readAll(list, PAGE_LIMIT_MAX);
    expect(whole.length).toBeGreaterThan(2);
    const full = whole.slice(0, -1);
    // The names of the fields are not counted.
    for (const { bytes } of whole) expect(bytes).toBeLessThan(1.1 * PAGE_MAX_BYTES);
    for (const { bytes } of full) expect(bytes).toBeGreaterThan(0.4 * PAGE_MAX_BYTES);
    const small = await readAll(list, 3);
    expect(small.map(({ ids }) => ids.length)).toEqual(Array.from({ length: ROWS / 3 }, () => 3));
    const ids = whole.flatMap((page) => page.ids);
    expect(ids).toEqual(small.flatMap((page) => page.ids));
    expect(new Set(ids).size).toBe(ROWS);
  });

  test('always holds one row, however large it is', async () => {
    const team = makeTeam('huge', {});
    await loadTestSeed(database, makeSeed([team]));
    await db.pool.query(
      `insert into training_case (team_id, id, user_id, title, created_at)
       select 'team_huge', 'cas_' || n, 'usr_huge_member', repeat('x', $1::int), now()
       from generate_series(1, 3) n`,
      [PAGE_MAX_BYTES + 1],
    );
    const pages = await readAll((query) => cases.listCases(db, 'team_huge', query), 50);
    expect(pages.map(({ ids }) => ids)).toEqual([['cas_3'], ['cas_2'], ['cas_1']]);
  });

  describe('of assignments', () => {
    const NOTES = 'team_notes';
    let own: Client;

    beforeAll(async () => {
      await loadTestSeed(database, makeSeed([makeTeam('notes', {})]));
      own = await openWhereTeamIs(database.url, NOTES);
      return () => own.end();
    });

    /** Fills the team with assignments, each with the note and the reference of its number `n`. */
    async function fill(note: string, ref = 'null'): Promise<void> {
      await own.query('delete from assignment where team_id = $1', [NOTES]);
      await own.query(
        `insert into assignment (team_id, id, member_id, status, note, external_ref, created_at)
         select $1, 'asg_' || lpad(n::text, 3, '0'), 'mem_notes_member', 'open', ${note}, ${ref},
           timestamptz '2026-01-01Z' + n * interval '1 minute'
         from generate_series(1, $2::int) n`,
        [NOTES, ROWS],
      );
    }

    /** How many statements a page takes. */
    async function readCounted(query: PageQuery, filters = {}) {
      const names: string[] = [];
      const counting: Db = {
        ...db,
        query: (what, values) => {
          names.push(what.name);
          return db.query(what, values);
        },
      };
      const page = await assignments.listAssignments(counting, NOTES, { ...query, ...filters });
      return { names, ...page };
    }

    const FILTERS = [{}, { updated_since: '2025-01-01T00:00:00Z' }, { due_before: '2027-01-01' }];

    test('of usual size takes one statement, and holds all notes', async () => {
      await fill(`repeat('x', ${Math.floor(PAGE_MAX_BYTES / (PAGE_LIMIT_MAX + 1))})`);
      await own.query(`update assignment set due_date = '2026-01-01' where team_id = $1`, [NOTES]);
      for (const filters of FILTERS) {
        const { names, rows, nextCursor } = await readCounted({ limit: PAGE_LIMIT_MAX }, filters);
        expect([names.length, rows.length, nextCursor]).toEqual([1, ROWS, null]);
        for (const { note } of rows) expect(note).toMatch(/^x{1304}$/);
      }
    });

    test('with a single long note holds it', async () => {
      await fill(`case when n = 7 then repeat('x', 10000) end`);
      await own.query(`update assignment set due_date = '2026-01-01' where team_id = $1`, [NOTES]);
      for (const filters of FILTERS) {
        const { names, rows, nextCursor } = await readCounted({ limit: PAGE_LIMIT_MAX }, filters);
        expect([names.length, rows.length, nextCursor]).toEqual([2, ROWS, null]);
        expect(rows.filter(({ note }) => note !== null).map(({ id }) => id)).toEqual(['asg_007']);
        expect(rows.find(({ id }) => id === 'asg_007')?.note).toHaveLength(10_000);
      }
    });

    test('measures references that Postgres cannot make smaller', async () => {
      const random = `select string_agg(md5(n || '/' || k), '') from generate_series(1, 120) k`;
      await fill('null', `json_build_object('id', n, 'random', (${random}))`);
      const list: List = (query) => assignments.listAssignments(db, NOTES, query);
      const pages = await readAll(list, PAGE_LIMIT_MAX);
      expect(pages.length).toBeGreaterThan(1);
      for (const { bytes } of pages) expect(bytes).toBeLessThan(1.2 * PAGE_MAX_BYTES);
      const ids = pages.flatMap((page) => page.ids);
      expect([ids.length, ids]).toEqual([ROWS, ids.toSorted().toReversed()]);
    });

    test('always holds one, however large it is', async () => {
      await fill(`case when n > ${ROWS - 3} then repeat('x', ${PAGE_MAX_BYTES + 1}) end`);
      const list: List = (query) => assignments.listAssignments(db, NOTES, query);
      const pages = await readAll(list, 50);
      expect(pages.map(({ ids }) => ids.length)).toEqual([1, 1, 50, 50, 18]);
    });

    test('reads no long note that does not fit', async () => {
      const random = `select string_agg(md5(n || '/' || k), '') from generate_series(1, 900) k`;
      await fill(`(${random})`);
      await own.query('vacuum analyze');
      const whole = { limit: PAGE_LIMIT_MAX + 1, after: null };
      const first = (one: Db) => store.listAssignments(one, NOTES, whole);
      const second = (one: Db) => {
        const query = async (...args: Parameters<Db['query']>) => {
          await one.query(...args);
          return [{ is_long: true }];
        };
        return store.listAssignments({ ...one, query } as Db, NOTES, whole);
      };
      expect(blocksRead(await explain(own, first, 'generic'))).toBeLessThan(2 * ROWS);
      expect(blocksRead(await explain(own, second, 'generic'))).toBeLessThan(2 * ROWS);
    });
  });

  // Postgres stores repeated text in a hundredth of its size.
  test.each(['random', 'repeated'])(
    'of trainings with large evaluations of %s text ends early, without reading the others',
    async (kind) => {
      const name = `eval_${kind}`;
      const teamId = `team_${name}`;
      await loadTestSeed(database, makeSeed([makeTeam(name, {})]));
      const own = await openWhereTeamIs(database.url, teamId);
      const text =
        kind === 'random'
          ? `(select string_agg(md5(n || '/' || k), '') from generate_series(1, 900) k)`
          : `repeat('said it again, ', 2000)`;
      await own.query(
        `insert into training (team_id, id, user_id, status, created_at)
         select $1, 'trn_' || n, $2, case when n % 10 = 0 then 'completed' else 'scored' end,
           timestamptz '2026-01-01Z' + n / 3 * interval '1 minute'
         from generate_series(1, $3::int) n`,
        [teamId, userId(name, 'member'), ROWS],
      );
      await own.query(
        `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at, tips)
         select team_id, id, user_id, created_at, created_at,
           jsonb_build_array(jsonb_build_object('issue', ${text}, 'moment', '', 'principle', '',
             'rewrite', '', 'impact', ''))
         from (select *, substr(id, 5)::int as n from training where team_id = $1) t
         where status = 'scored'`,
        [teamId],
      );
      await own.query('vacuum analyze');
      const list: List = (query) =>
        trainings.listTrainings(db, teamId, { ...query, include: 'evaluation' });
      const pages = await readAll(list, PAGE_LIMIT_MAX);
      for (const { bytes } of pages) expect(bytes).toBeLessThan(1.1 * PAGE_MAX_BYTES);
      expect(pages.length).toBeGreaterThan(10);
      const ids = pages.flatMap((page) => page.ids);
      expect(new Set(ids).size).toBe(ROWS);
      expect(ids).toEqual(
        (await readAll((q) => trainings.listTrainings(db, teamId, q), 200))[0]?.ids,
      );
      const slice = { ...PAGE, limit: 201, withEvaluations: true };
      const plan = await explain(own, (one) => listTrainings(one, teamId, slice, {}), 'generic');
      // The rows and their entries of indexes; of what is large, about 256 KB of 3.2 MB.
      expect(blocksRead(plan)).toBeLessThan(12 * ROWS);
      await own.end();
    },
  );

  test('is measured without reading what does not fit', async () => {
    const whole = { limit: PAGE_LIMIT_MAX + 1, after: null, userId: null };
    const read = async (): Promise<number> =>
      blocksRead(await explain(client, (recorder) => listCases(recorder, LARGE, whole), 'generic'));
    // A row and its entry of the index each, and the way to the first one.
    expect(await read()).toBeLessThan(2 * ROWS);
  });
});
