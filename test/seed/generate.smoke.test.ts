import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSeed } from '../../src/seed/load.ts';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { APP_SECRET, openClient, tinyTeam, type Team } from './full-file.ts';

const GENERATE = {
  members: 120,
  trainings: 4_000,
  assignments: 800,
  cases: 300,
  crm_deals: 200,
  from: '2026-01-01',
  to: '2026-07-01',
  random_seed: 7,
};
const NOT_GENERATED = new Set(['api_key', 'webhook_endpoint']);

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await openClient(database.url);
  await load(GENERATE);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

async function load(generate: NonNullable<Team['generate']>): Promise<void> {
  const catalog = ['situation', 'personality', 'industry', 'role', 'methodology'] as const;
  const team = tinyTeam('team_gen', { seats: 200, generate });
  team.members = [
    {
      id: 'mem_o',
      user_id: 'usr_o',
      email: 'o@gen.test',
      role: 'owner',
      created_at: '2025-01-01T00:00:00Z',
    },
  ];
  const file = { catalog: catalog.map((kind) => ({ kind, id: `${kind}_1` })), teams: [team] };
  await loadSeed(database.url, file, { replace: true, appSecret: APP_SECRET });
}

/** Returns a hash of all rows of each table. */
async function hashTables(): Promise<Record<string, unknown>> {
  const hashes: Record<string, unknown> = {};
  for (const table of TENANT_TABLE_NAMES.filter((name) => !NOT_GENERATED.has(name))) {
    const { rows } = await client.query<{ hash: string }>(
      `SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE "C")) AS hash
       FROM "${table}" t`,
    );
    hashes[table] = rows[0]?.hash;
  }
  return hashes;
}

const read = async (sql: string): Promise<Record<string, unknown>> =>
  (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};

describe('generate', () => {
  it('makes the same rows for the same random_seed, and others for another', async () => {
    const first = await hashTables();
    await load(GENERATE);
    expect(await hashTables()).toEqual(first);
    await load({ ...GENERATE, random_seed: 8 });
    const other = await hashTables();
    for (const table of [
      'member',
      'assignment',
      'training',
      'evaluation',
      'training_case',
      'crm_deal',
      'crm_objection',
      'analytics_person',
    ]) {
      expect({ table, hash: other[table] }).not.toEqual({ table, hash: first[table] });
    }
    await load(GENERATE);
  });

  it('makes as many rows as asked, on top of the listed ones', async () => {
    const count = (table: string) => `(SELECT count(*)::int FROM ${table}) AS ${table}`;
    const tables = [
      'member',
      'training',
      'assignment',
      'training_case',
      'crm_deal',
      'crm_connection',
    ];
    expect(await read(`SELECT ${tables.map(count).join(', ')}`)).toEqual({
      member: 121,
      training: 4_000,
      assignment: 800,
      training_case: 300,
      crm_deal: 200,
      crm_connection: 1,
    });
  });

  it('spreads trainings over the given time, on workdays, in order of id', async () => {
    const facts = await read(`
      SELECT min(created_at) >= '2026-01-01Z' AND max(created_at) < '2026-07-01Z' AS inside,
        bool_and(ascending) AS ascending,
        avg((extract(isodow FROM created_at AT TIME ZONE 'UTC') < 6)::int) > 0.9 AS weekdays,
        count(DISTINCT date_trunc('week', created_at))::int AS weeks
      FROM (
        SELECT created_at,
          coalesce(created_at >= lag(created_at) OVER (ORDER BY id), true) AS ascending
        FROM training
      ) t`);
    expect(facts).toEqual({ inside: true, ascending: true, weekdays: true, weeks: 27 });
  });

  it('gives trainings to all active members only, with rising scores', async () => {
    expect(
      await read(
        `SELECT count(*)::int AS n
         FROM training t
         WHERE NOT EXISTS (
           SELECT FROM member m
           WHERE m.team_id = t.team_id AND m.user_id = t.user_id AND m.status = 'active'
         )`,
      ),
    ).toEqual({ n: 0 });
    const { trained } = await read(
      'SELECT count(DISTINCT (team_id, user_id))::int AS trained FROM training',
    );
    expect(
      await read(`SELECT count(*)::int AS trained FROM member WHERE status = 'active'`),
    ).toEqual({ trained });
    const { early, late } = await read(`
      SELECT avg(total) FILTER (WHERE created_at < '2026-02-01')::float AS early,
        avg(total) FILTER (WHERE created_at > '2026-06-01')::float AS late
      FROM training
      JOIN evaluation USING (team_id)
      WHERE training_id = id`);
    expect(Number(late) - Number(early)).toBeGreaterThan(5);
  });

  it('scores about 85 % of them', async () => {
    const { scored, share } = await read(`
      SELECT count(*) FILTER (WHERE status = 'scored')::int AS scored,
        avg((status = 'scored')::int)::float AS share
      FROM training`);
    expect(await read('SELECT count(*)::int AS scored FROM evaluation')).toEqual({ scored });
    expect(share).toBeCloseTo(0.85, 1);
  });

  it('links assignments to later trainings of the same person', async () => {
    const facts = await read(`
      SELECT count(*)::int > 150 AS some,
        bool_and(m.user_id = t.user_id) AS same_person,
        bool_and(t.created_at >= a.created_at) AS after,
        bool_and(
          (a.status = 'done') = (t.status = 'scored')
          AND (a.completed_training_id = t.id)
            IS NOT DISTINCT FROM nullif(t.status = 'scored', false)
        ) AS done
      FROM training t
      JOIN assignment a ON a.team_id = t.team_id AND a.id = t.assignment_id
      JOIN member m ON m.team_id = t.team_id AND m.id = a.member_id`);
    expect(facts).toEqual({ some: true, same_person: true, after: true, done: true });
  });

  it('works with more assignments than trainings, and with nothing at all', async () => {
    await load({ members: 3, trainings: 10, assignments: 45, random_seed: 1 });
    expect(
      await read(
        `SELECT count(assignment_id) > 0 AS linked,
           count(assignment_id) = count(DISTINCT assignment_id) AS once
         FROM training`,
      ),
    ).toEqual({ linked: true, once: true });
    await load({});
    expect(await read('SELECT count(*)::int AS n FROM training')).toEqual({ n: 0 });
  });

  it('works on the first and the last days that it takes', async () => {
    const rows = { members: 60, trainings: 60, assignments: 60, cases: 60, crm_deals: 60 };
    for (const [from, to] of [
      ['0002-01-01', '0002-01-02'],
      ['9998-12-30', '9998-12-31'],
    ] as const) {
      await load({ ...rows, from, to });
      expect(await read('SELECT count(*)::int AS n FROM training')).toEqual({ n: 60 });
    }
  });
});
