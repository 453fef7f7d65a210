import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseApiKey, hashSecret } from '../../src/core/api-key.ts';
import { decrypt } from '../../src/core/encryption.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { loadSeed, type SeedResult } from '../../src/seed/load.ts';
import { webhookSecretContext } from '../../src/features/webhook-endpoints/rules.ts';
import { createTestDatabase, isOnCitus, type TestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import {
  APP_SECRET,
  CASE,
  EVALUATION,
  fullFile,
  openClient,
  SETTINGS,
  tinyTeam,
  TRAINING,
} from './full-file.ts';

const options = { replace: false, appSecret: APP_SECRET };
let database: TestDatabase;
let client: pg.Client;
let result: SeedResult;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await openClient(database.url);
  result = await loadSeed(database.url, fullFile(), options);
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const read = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await client.query<Record<string, unknown>>(sql, values)).rows;
const readOne = async (table: string, id: string) =>
  (await read(`SELECT * FROM "${table}" WHERE id = $1`, id))[0];

describe('a file with every field', () => {
  it('becomes a team with its switches', async () => {
    expect(await readOne('team', 'team_a')).toMatchObject({
      ...SETTINGS,
      member_detail_enabled: false,
      leaderboard_enabled: false,
      all_released: false,
    });
  });

  it('becomes a catalog, with releases, rules and blocks', async () => {
    expect(await readOne('catalog_entry', 'sit_cold')).toEqual({
      id: 'sit_cold',
      kind: 'situation',
      name_de: 'Kaltakquise',
      name_en: 'Cold call',
      icon: 'phone',
    });
    expect(await readOne('catalog_entry', 'sit_own')).toBeUndefined();
    expect(await readOne('team_catalog_entry', 'sit_own')).toMatchObject({
      team_id: 'team_a',
      name_de: null,
      name_en: 'Ours',
    });
    expect(
      await read(
        `SELECT situation_id, personality_id, industry_id FROM catalog_rule
         WHERE id <> 'rule_sandbox'`,
      ),
    ).toEqual([{ situation_id: 'sit_cold', personality_id: null, industry_id: 'ind_public' }]);
    expect(await read('SELECT entry_id FROM catalog_release ORDER BY 1')).toEqual([
      { entry_id: 'met_spin' },
      { entry_id: 'sit_cold' },
    ]);
    expect(await read('SELECT entry_id FROM team_block ORDER BY 1')).toEqual([
      { entry_id: 'ind_gambling' },
      { entry_id: 'never_existed' },
    ]);
    expect(await read('SELECT member_id, entry_id FROM member_block')).toEqual([
      { member_id: 'mem_2', entry_id: 'sit_cold' },
    ]);
  });

  it('becomes members, with defaults for fields that are left out', async () => {
    expect(await readOne('member', 'mem_1')).toMatchObject({
      user_id: 'usr_1',
      email: 'O@acme.test',
      role: 'owner',
      status: 'active',
      rights: ['schnittstellen'],
      joined_at: '2026-01-01T00:00:00.000Z',
      created_at: '2025-12-31T00:00:00.000Z',
      invited_at: null,
      ended_at: null,
    });
    expect(await readOne('member', 'mem_2')).toMatchObject({
      role: 'admin',
      rights: ['schnittstellen'],
    });
    expect(await readOne('member', 'mem_3')).toMatchObject({
      user_id: null,
      role: 'member',
      status: 'invited',
      joined_at: null,
      rights: [],
    });
    expect(await readOne('member', 'mem_4')).toMatchObject({
      user_id: null,
      email: null,
      status: 'ended',
      ended_at: expect.any(String),
    });
    const [five] = await read(`SELECT * FROM member WHERE email = 'five@acme.test'`);
    expect(five).toMatchObject({
      id: expect.stringMatching(/^mem_/),
      user_id: expect.stringMatching(/^usr_/),
      status: 'active',
    });
  });

  it('becomes trainings and evaluations', async () => {
    expect(await readOne('training', TRAINING.id)).toEqual({
      team_id: 'team_a',
      ...TRAINING,
      finished_at: '2026-03-04T05:13:07.000Z',
      json_bytes: Buffer.byteLength(JSON.stringify(TRAINING.external_ref)),
    });
    const { score, ...texts } = EVALUATION;
    expect((await read(`SELECT * FROM evaluation WHERE training_id = 'trn_1'`))[0]).toEqual({
      team_id: 'team_a',
      training_id: TRAINING.id,
      user_id: TRAINING.user_id,
      ...score,
      ...texts,
      saved_at: '2026-03-04T05:14:00.000Z',
      stored_at: '2026-03-04T05:14:00.000Z',
    });
    const [bare] = await read(
      `SELECT e.*
       FROM evaluation e
       JOIN training t ON t.team_id = e.team_id AND t.id = e.training_id
       WHERE t.created_at = '2026-03-05T00:00Z'`,
    );
    expect(bare).toMatchObject({
      saved_at: '2026-03-05T00:00:00.000Z',
      total: null,
      dimensions: {},
      tips: [],
    });
  });

  it('becomes assignments and cases', async () => {
    expect(await readOne('assignment', 'asg_1')).toMatchObject({
      member_id: 'mem_2',
      title: 'Übung 🎯',
      status: 'done',
      due_date: '2026-12-01',
      completed_training_id: 'trn_1',
      created_at: '2026-03-01T00:00:00.000Z',
    });
    expect(await readOne('assignment', 'asg_2')).toMatchObject({
      member_id: 'mem_3',
      status: 'open',
      title: null,
    });
    expect(await readOne('training_case', 'cas_1')).toMatchObject(CASE);
    // The keys keep the order of the file.
    expect(await read(`SELECT fields::text AS text FROM training_case WHERE id = 'cas_1'`)).toEqual(
      [{ text: '[{"b":1,"a":2}]' }],
    );
  });

  it('becomes connections, deals and objections', async () => {
    expect(await readOne('crm_connection', 'crm_1')).toMatchObject({
      provider: 'pipedrive',
      status: 'paused',
    });
    expect(await readOne('crm_deal', 'deal_1')).toMatchObject({
      connection_id: 'crm_1',
      external_id: '42',
      amount: '12500.00',
      close_date: '2026-12-31',
      probability: 60,
      owner_user_id: 'usr_2',
      last_activity_at: '2026-03-01T00:00:00.000Z',
      synced_at: '2026-03-02T00:00:00.000Z',
      created_at: '2026-03-02T00:00:00.000Z',
    });
    expect(await readOne('crm_deal', 'deal_2')).toMatchObject({
      connection_id: 'crm_1',
      external_id: 'deal_2',
      outcome: 'open',
      created_at: '2026-03-03T00:00:00.000Z',
    });
    expect(await readOne('crm_objection', 'obj_1')).toMatchObject({
      deal_id: 'deal_1',
      category: 'price',
      text: 'zu teuer',
      lang: 'de',
    });
  });

  it('shows each key once, and stores only its prefix and hash', async () => {
    const { api_keys: keys } = result.teams['team_a'] ?? {};
    expect(Object.keys(keys ?? {})).toEqual(['full', 'narrow']);
    const parts = parseApiKey(keys?.['full'] ?? '');
    const [full] = await read(`SELECT * FROM api_key WHERE name = 'full'`);
    expect(full).toMatchObject({
      prefix: parts?.prefix,
      secret_hash: hashSecret(parts?.secret ?? ''),
      scopes: SCOPES,
      created_by: 'mem_1',
      expires_at: null,
      revoked_at: null,
      allowed_ips: null,
    });
    const [narrow] = await read(
      `SELECT scopes, created_by, allowed_ips::text[] AS ips, expires_at, revoked_at
       FROM api_key
       WHERE name = 'narrow'`,
    );
    expect(narrow).toEqual({
      scopes: ['users:read'],
      created_by: 'mem_2',
      ips: ['127.0.0.0/8', '::1/128'],
      expires_at: '2030-01-01T00:00:00.000Z',
      revoked_at: '2026-02-01T00:00:00.000Z',
    });
  });

  it('shows each webhook secret once, and stores it encrypted', async () => {
    const secrets = result.teams['team_a']?.webhook_endpoints ?? {};
    const row = await readOne('webhook_endpoint', 'whe_1');
    expect(row).toMatchObject({
      url: 'http://127.0.0.1:9/hook',
      events: ['training.completed'],
      status: 'disabled',
      api_version: '2026-11',
      description: 'd',
    });
    const stored = decrypt(
      row?.['secret_encrypted'] as Buffer,
      { current: APP_SECRET, previous: null },
      webhookSecretContext('team_a', 'whe_1'),
    );
    expect(stored).toBe(secrets['whe_1']);
    expect(stored).toMatch(/^whsec_[A-Za-z0-9]{44}$/);
    expect(Object.keys(secrets)).toHaveLength(2);
  });

  it('becomes deliveries that are done', async () => {
    const { id, ...fields } = fullFile().teams[0]?.webhook_deliveries?.[0] ?? {};
    const row = await readOne('webhook_delivery', id ?? '');
    const at = '2026-03-04T10:00:00.000Z';
    expect(row).toMatchObject({ ...fields, created_at: at, last_attempt_at: at, due_at: null });
  });

  it('generates ids in the order of the file', async () => {
    await loadSeed(
      database.url,
      {
        teams: [
          tinyTeam('team_order', {
            trainings: Array.from({ length: 300 }, (_, n) => ({
              user_id: 'usr_o',
              status: 'started',
              duration_s: n,
            })),
          }),
        ],
      },
      options,
    );
    const rows = await read(
      `SELECT duration_s FROM training WHERE team_id = 'team_order' ORDER BY id`,
    );
    expect(rows.map((row) => row['duration_s'])).toEqual(rows.map((_, index) => index));
  });
});

describe('a catalog that exists already', () => {
  it('is updated, and may belong to a team in the database', async () => {
    await loadSeed(
      database.url,
      {
        catalog: [
          { kind: 'situation', id: 'sit_cold', name: { en: 'Very cold call' } },
          { kind: 'role', id: 'rol_own', team: 'team_a' },
        ],
        catalog_rules: [{ situation: 'sit_cold', industry: 'ind_public' }],
        teams: [tinyTeam('team_released', { released: ['met_spin'] })],
      },
      options,
    );
    expect(await readOne('catalog_entry', 'sit_cold')).toMatchObject({
      name_de: null,
      name_en: 'Very cold call',
      icon: null,
    });
    expect(await readOne('team_catalog_entry', 'rol_own')).toMatchObject({
      team_id: 'team_a',
      kind: 'role',
    });
    const rules = `SELECT count(*)::int AS n FROM catalog_rule WHERE id <> 'rule_sandbox'`;
    expect(await read(rules)).toEqual([{ n: 1 }]);
  });
});

it('loads own entries of two teams with the same id', async () => {
  const teams = ['team_one', 'team_two'];
  const catalog = teams.map((team) => ({
    kind: 'situation' as const,
    id: 'sit_same',
    name: { en: `Of ${team}` },
    team,
  }));
  await loadSeed(database.url, { catalog, teams: teams.map((team) => tinyTeam(team)) }, options);
  expect(
    await read(`SELECT team_id, name_en FROM team_catalog_entry WHERE id = 'sit_same' ORDER BY 1`),
  ).toEqual(teams.map((team) => ({ team_id: team, name_en: `Of ${team}` })));
});

describe('the demo tenant', () => {
  it('loads, with a key that has every scope', async () => {
    const loaded = await loadSeed(
      database.url,
      demoSeedFile(new Date('2026-11-20T09:00:00Z')),
      options,
    );
    expect(parseApiKey(loaded.teams['team_demo']?.api_keys['demo'] ?? '')).not.toBeNull();
    const counts = await read(
      `SELECT status, count(*)::int AS n
       FROM member
       WHERE team_id = 'team_demo'
       GROUP BY 1
       ORDER BY 1`,
    );
    expect(counts).toEqual([
      { status: 'active', n: 10 },
      { status: 'ended', n: 1 },
      { status: 'invited', n: 1 },
    ]);
    const [latest] = await read(
      `SELECT max(created_at) AS at
       FROM training
       WHERE team_id = 'team_demo' AND id LIKE 'trn_gen%'`,
    );
    expect(String(latest?.['at']) > '2026-11-18').toBe(true);
  });
});

// On Citus each shard has its own.
const hasOneTable = !isOnCitus();

it.runIf(hasOneTable)('leaves statistics of all teams: none is taken for the table', async () => {
  const names = Array.from({ length: 16 }, (_, index) => `many${index}`);
  const teams = names.map((name) =>
    makeTeam(name, {
      cases: Array.from({ length: 100 }, () => ({ user_id: userId(name, 'member') })),
    }),
  );
  await loadSeed(database.url, makeSeed(teams), options);
  const [statistics] = await read(
    `select n_distinct as teams
     from pg_stats
     where tablename = 'training_case' and attname = 'team_id'`,
  );
  expect(statistics?.['teams']).toBeGreaterThanOrEqual(8);
});

// The tables of a cluster have their indexes at its nodes.
it.skipIf(isOnCitus())('a file that is loaded gives its keys, though no vacuum works', async () => {
  const own = await createTestDatabase();
  const there = await openClient(own.url);
  // ANALYZE computes the expression of an index, as the load does, in its transaction.
  await there.query(`
    create function refuse_analyze(id text) returns text immutable language plpgsql as $$
      begin
        if coalesce(current_setting('citus.multi_shard_modify_mode', true), '') = '' then
          raise exception 'this table is not analyzed';
        end if;
        return id;
      end $$;
    create index on person (refuse_analyze(id))`);
  const warnings: string[] = [];
  const loaded = await loadSeed(own.url, fullFile(), {
    ...options,
    vacuumRows: 1,
    onWarning: (message) => warnings.push(message),
  });
  expect(Object.keys(loaded.teams)).toEqual(['team_a']);
  expect(warnings).toEqual([expect.stringContaining('this table is not analyzed')]);
  await there.end();
  await own.drop();
});

// A Postgres before 17 has no limit for transactions.
it.skipIf(isOnCitus()).each(['statement_timeout', 'lock_timeout', 'transaction_timeout'])(
  'the limit %s of the role does not cancel a load',
  async (limit) => {
    const own = await createTestDatabase();
    const there = await openClient(own.url);
    await there.query(`
    do $$ begin
      if current_setting('${limit}', true) is null then return; end if;
      execute format('alter database %I set ${limit} = 100', current_database());
    end $$`);
    await there.query('begin; lock table person');
    const loading = loadSeed(own.url, fullFile(), options);
    loading.catch(() => undefined);
    await until(async () => {
      await there.query('select pg_stat_clear_snapshot()');
      const { rowCount } = await there.query(
        `select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'
           and query_start < clock_timestamp() - interval '300 ms'`,
      );
      return rowCount;
    });
    await there.query('commit');
    expect(Object.keys((await loading).teams)).toEqual(['team_a']);
    await there.end();
    await own.drop();
  },
);
