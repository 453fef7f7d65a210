// What the job reads of a team is bounded, however many rows the team has. The figures are rows.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import type { Db } from '../../src/db/client.ts';
import { statement } from '../../src/db/statement.ts';
import { listDue } from '../../src/features/alerts/store.ts';
import { listEndingKeys } from '../../src/features/api-keys/service.ts';
import { listDays } from '../../src/features/usage/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { openWhereTeamIs } from '../support/shards.ts';

const TEAM = 'team_big';
const MANY = 5_000;
const NOW = new Date('2026-11-18T12:00:00.000Z');
const clock = fixedClock(NOW);

/** What this transaction has read of a table. */
const READ = statement<{ rows: number }>(
  'test.rowsRead',
  `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows
   from pg_stat_xact_user_tables
   where relname = $1`,
);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('big'), makeTeam('other')]), clock });
  const { pool } = api.db;
  // Without the triggers that check what does not matter here.
  const client = await openWhereTeamIs(api.databaseUrl, TEAM);
  await client.query('set session_replication_role = replica');
  await client.query(
    `insert into api_key
       (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at,
        revoked_at)
     select $1, 'key_' || n, 'n' || n, lpad(n::text, 12, '0'), decode(repeat('00', 32), 'hex'),
       '{}', 'mem_big_owner', $3,
       case
         when n <= 3 then $3::timestamptz + n * interval '1 day'
         when n % 3 = 0 then $3::timestamptz - n * interval '1 minute'
         when n % 3 = 1 then $3::timestamptz + interval '1 year'
       end,
       case when n > 3 and n % 3 <> 0 then $3::timestamptz end
     from generate_series(1, $2::int) n`,
    [TEAM, MANY, NOW],
  );
  await client.query(
    `insert into api_key_usage (team_id, day, key_id, count_2xx)
     select $1, $3::date - day, 'key_' || n, 1
     from generate_series(0, 79) day
     cross join generate_series(1, $2::int) n`,
    [TEAM, MANY / 100, NOW],
  );
  await client.query(
    `insert into alert_subscription (team_id, member_id, kinds, next_check_at)
     select $1, 'mem_' || n, '{keys}',
       $3::timestamptz + case when n <= 30 then -n else n end * interval '1 second'
     from generate_series(1, $2::int) n`,
    [TEAM, MANY, NOW],
  );
  await client.end();
  await pool.query('analyze');
});

const readOf = (table: string, list: (db: Db) => Promise<unknown>): Promise<number> =>
  api.db.transaction(async (tx) => {
    await list(tx);
    const [row] = await tx.query(READ, [table]);
    return row?.rows ?? Number.NaN;
  });

describe('a look for alerts', () => {
  test('reads no keys but those that end soon', async () => {
    const ends = { after: NOW, until: new Date('2026-12-02T12:00:00.000Z') };
    let found: unknown[] = [];
    const rows = await readOf('api_key', async (db) => {
      found = await listEndingKeys(db, TEAM, ends);
    });
    expect(found).toHaveLength(3);
    expect(rows).toBeLessThanOrEqual(3);
  });

  test('reads the usage of two days only', async () => {
    const rows = await readOf('api_key_usage', (db) =>
      listDays(db, clock, TEAM, { since: '2026-11-17' }),
    );
    expect(rows).toBeLessThanOrEqual((2 * MANY) / 100);
  });

  test('reads a page of the subscriptions that are due', async () => {
    const page = (after: { next_check_at: string; team_id: string; member_id: string } | null) =>
      readOf('alert_subscription', (db) => listDue(db, NOW, { after, limit: 20 }));
    expect(await page(null)).toBeLessThanOrEqual(40);
    const last = { next_check_at: '2026-11-18T11:59:45.000Z', team_id: TEAM, member_id: 'mem_15' };
    expect(await page(last)).toBeLessThanOrEqual(40);
  });
});
