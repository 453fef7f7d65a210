import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEYS, TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { SeedFault } from '../../src/seed/fault.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { untilWaiting } from '../support/locks.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';
import { APP_SECRET, countRows, fullFile, openClient, tinyTeam } from './full-file.ts';

let database: TestDatabase;
let client: pg.Client;

beforeEach(async () => {
  database = await createTestDatabase();
  client = await openClient(database.url);
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

const load = (file: unknown, replace: boolean) =>
  loadSeed(database.url, file, { replace, appSecret: APP_SECRET });

/**
 * Writes the rows that the service adds to those of a seed: events, deliveries, idempotency
 * records, the audit log, rate counters.
 */
async function writeTraffic(prefix: string): Promise<void> {
  await client.query(`
    INSERT INTO event (team_id, id, type, data, created_at)
    VALUES ('team_a', 'evt_1', 'ping', '{}', now());
    INSERT INTO webhook_delivery
      (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at)
    VALUES ('team_a', 'whd_1', 'whe_1', 'evt_1', 'ping', now(), now());
    INSERT INTO idempotency_record
      (team_id, key, fingerprint, status, body, encrypted, created_at)
    VALUES ('team_a', 'k', '', 200, '', false, now());
    INSERT INTO audit_log (team_id, id, created_at, actor_kind, actor_id, action, request_id)
    VALUES ('team_a', 'aud_1', now(), 'system', 'x', 'x', 'x');
    INSERT INTO team_counter (team_id, bucket, minute, count)
    VALUES ('team_a', 'keys', 1, 1), ('team_a', 'key:${prefix}', 1, 1), ('team_b', 'keys', 1, 1),
      ('team_a', 'app', 1, 1), ('team_a', 'person:usr_1', 1, 1)`);
}

/** Sums up how often pages were visited so far, once all loads have reported theirs. */
async function visits(): Promise<number> {
  const isLoading = `SELECT FROM pg_stat_activity
    WHERE application_name like 'team-customer-api seed %' AND datname = current_database()`;
  await until(async () => (await client.query(isLoading)).rowCount === 0);
  const { rows } = await client.query<{ sum: string }>(
    `SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) AS sum
     FROM pg_statio_user_tables`,
  );
  return Number(rows[0]?.sum);
}

describe('--replace', () => {
  it('removes everything of the old team and nothing of other teams', async () => {
    await load(
      {
        teams: [
          tinyTeam('team_b', {
            trainings: [
              { user_id: 'usr_o', status: 'scored', evaluation: { score: { total: 50 } } },
            ],
          }),
        ],
      },
      false,
    );
    const alone = await countRows(client);
    const { teams } = await load(fullFile(), false);
    await writeTraffic(
      (teams['team_a']?.api_keys['full'] ?? '').slice('svck_live_'.length).split('_')[0] ?? '',
    );
    await load({ teams: [tinyTeam('team_a')] }, true);

    const now = await countRows(client);
    const added = { team: 1, person: 1, member: 1, team_counter: 1 };
    const catalog = { catalog_entry: 3, catalog_rule: 1 };
    const expected = Object.entries(alone).map(([table, count]) => [
      table,
      count + ({ ...added, ...catalog }[table] ?? 0),
    ]);
    expect(now).toEqual(Object.fromEntries(expected));
  });

  it('is allowed for a new team', async () => {
    await load(fullFile(), true);
    expect((await countRows(client))['team']).toBe(1);
  });

  it('keeps the old team when the new file is refused', async () => {
    await load(fullFile(), false);
    const before = await countRows(client);
    await expect(load({ teams: [{ ...tinyTeam('team_a'), seats: -1 }] }, true)).rejects.toThrow(
      SeedFault,
    );
    expect(await countRows(client)).toEqual(before);
  });

  it('leaves nothing of the old team in its own row', async () => {
    await load({ teams: [tinyTeam('team_a'), tinyTeam('team_b')] }, false);
    const { rows } = await client.query<{ name: string }>(
      `SELECT column_name AS name
       FROM information_schema.columns
       WHERE table_name = 'team' AND column_name NOT IN ('id', 'created_at')`,
    );
    // As many columns as possible get another value than that of a new row.
    await client.query(`
      UPDATE team
      SET name = 'x', plan = 'starter', status = 'ended', seats = 1, rate_limit_per_min = 1,
        language = 'en', member_detail_enabled = false, leaderboard_enabled = false,
        all_released = false, creation_hash = sha256('x')
      WHERE id = 'team_a'`);
    await load({ teams: [tinyTeam('team_a', { name: 'team_b' })] }, true);
    const read = async (id: string) =>
      (
        await client.query(
          `SELECT ${rows.map((row) => row.name).join(', ')} FROM team WHERE id = $1`,
          [id],
        )
      ).rows[0];
    expect(await read('team_a')).toEqual(await read('team_b'));
  });

  it('gives the sandbox that the file does not have what the new team has', async () => {
    await load({ teams: [tinyTeam('team_a')] }, false);
    await client.query(`
      INSERT INTO team (id, name, plan, status, seats, rate_limit_per_min, language, created_at)
      SELECT 'team_a:sandbox', name, plan, status, 200, 300, language, created_at FROM team`);
    const limits = { status: 'suspended', plan: 'starter', rate_limit_per_min: 100 } as const;
    await load({ teams: [tinyTeam('team_a', { ...limits, name: 'New', language: 'en' })] }, true);
    const read = async () =>
      (await client.query(`SELECT * FROM team WHERE id = 'team_a:sandbox'`)).rows[0] as unknown;
    const expected = { ...limits, name: 'New', language: 'en', seats: 200 };
    expect(await read()).toMatchObject(expected);
    await load({ teams: [tinyTeam('team_a', { rate_limit_per_min: 5000 })] }, true);
    expect(await read()).toMatchObject({ status: 'active', rate_limit_per_min: 300 });
    // A suspension that is played goes on.
    await client.query(`
      INSERT INTO sandbox
        (team_id, scenario, created_at, reset_at, suspended_until)
      VALUES ('team_a:sandbox', 'empty', now(), now(), now() + interval '1 hour')`);
    await load({ teams: [tinyTeam('team_a')] }, true);
    expect(await read()).toMatchObject({ status: 'suspended' });
    // What is being erased stays closed.
    await client.query(
      `UPDATE team SET status = 'ended', erasing_since = now() WHERE id = 'team_a:sandbox'`,
    );
    await load({ teams: [tinyTeam('team_a', { name: 'Newer' })] }, true);
    expect(await read()).toMatchObject({ status: 'ended', name: 'team_a' });
  });

  it('refuses a team that is being erased, because the job would go on', async () => {
    await load(fullFile(), false);
    await client.query(`UPDATE team SET status = 'ended', erasing_since = now()`);
    const before = await countRows(client);
    await expect(load({ teams: [tinyTeam('team_a')] }, true)).rejects.toMatchObject({
      faults: [{ path: '$.teams[0].id' }],
    });
    expect(await countRows(client)).toEqual(before);
  });

  it('visits a few pages for each row, however many there are', async () => {
    const size = 500;
    const generate = {
      members: size,
      trainings: size,
      assignments: size,
      cases: size,
      crm_deals: size,
      from: '2025-01-01',
      to: '2026-11-01',
    };
    const file = { teams: [tinyTeam('team_a', { seats: size, generate })] };
    await load(file, false);
    // The planner now believes that the tables are empty, although their files are large.
    await load({ teams: [tinyTeam('team_a')] }, true);
    await client.query('VACUUM (ANALYZE, TRUNCATE false)');
    const before = await visits();
    await load(file, true);
    await load(file, true);
    expect(((await visits()) - before) / (2 * 5 * size)).toBeLessThan(60);
  });

  it('covers every table with a team', async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT table_name AS name
       FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'team_id'
       ORDER BY 1`,
    );
    expect(rows.map((row) => row.name)).toEqual([...TENANT_TABLE_NAMES, KEYS].toSorted());
  });
});

describe('two loads at once', () => {
  const big = () => ({
    catalog: fullFile().catalog,
    teams: [...fullFile().teams, tinyTeam('team_b'), tinyTeam('team_c')],
  });

  it('of the same teams, in any order: one succeeds, the other is refused', async () => {
    const reversed = { ...big(), teams: big().teams.toReversed() };
    const results = await Promise.allSettled([
      load(big(), false),
      load(reversed, false),
      load(big(), false),
    ]);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const { reason } of refused) {
      expect(reason).toBeInstanceOf(SeedFault);
      expect((reason as SeedFault).faults.map((fault) => fault.path).toSorted()).toEqual([
        '$.teams[0].id',
        '$.teams[1].id',
        '$.teams[2].id',
      ]);
    }
    expect((await countRows(client))['team']).toBe(3);
  });

  it('with --replace: the last one stays, complete', async () => {
    await load(big(), false);
    const before = await countRows(client);
    await Promise.all([load(big(), true), load(big(), true), load(big(), true)]);
    expect(await countRows(client)).toEqual(before);
  });

  it('of a team that another transaction is creating: refused', async () => {
    await client.query('BEGIN');
    await client.query(`INSERT INTO team (id, name, created_at) VALUES ('team_a', 'x', now())`);
    const loading = load(fullFile(), false);
    loading.catch(() => undefined);
    // When the load waits for our row, it has passed its check.
    const db = openTestDatabase({ url: database.url, poolMax: 4 });
    await untilWaiting({ db }, 1);
    await db.close();
    await client.query('COMMIT');
    await expect(loading).rejects.toMatchObject({ faults: [{ path: '$.teams[0].id' }] });
    expect(await countRows(client)).toMatchObject({ team: 1, member: 0, catalog_entry: 0 });
  });
});
