// What is counted of a team up to a number reads no more rows than that number, however many match
// and however many older ones do not. The figures are rows.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Db, Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { countOpenAssignments, OPEN_COUNTED_MAX } from '../../src/features/members/search-store.ts';
import { COUNT_MAX, findOverview } from '../../src/features/team-lifecycle/overview-store.ts';
import { startTestApi } from '../support/api.ts';
import type { Mode } from '../support/plans.ts';
import { openSturdyPool } from '../support/pool.ts';
import { openByMode, rowsReadBy } from '../support/rows-read.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';

const TEAM = 'team_big';
const NOW = new Date('2026-11-20T12:00:00.000Z');
/** Of each kind. More of them change nothing. */
const ROWS = 6_000;
const FEW = 20;
const owner = memberId('big', 'owner');

let databases: ReadonlyMap<Mode, Database>;
let liveKeys: number;

beforeAll(async () => {
  const api = await startTestApi({ seed: makeSeed([makeTeam('big')]) });
  const pool = openSturdyPool(api.databaseUrl, 1);
  await pool.query('set session_replication_role = replica');
  // The newest quarter counts: pending, retrying, members, open assignments.
  const at = `$2::timestamptz + n * interval '1 second'`;
  await pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select $1, 'whd_' || lpad(n::text, 9, '0'), 'whe_' || n % 2, 'evt_' || n, 'case.created',
       status, 1, ${at}, case when status <> 'ok' then ${at} end
     from generate_series(1, $3::int) n
     cross join lateral (
       select case when n * 4 < $3 * 3 then 'ok' when n % 2 = 0 then 'pending' else 'retrying' end
         as status
     ) s`,
    [TEAM, NOW, ROWS * 2],
  );
  await pool.query(
    `insert into member (team_id, id, email, role, status, created_at, invited_at, ended_at)
     select $1, 'mem_' || lpad(n::text, 9, '0'), n || '@x.test', 'member',
       case when n * 4 < $3 * 3 then 'ended' else 'invited' end, ${at}, ${at},
       case when n * 4 < $3 * 3 then ${at} end
     from generate_series(1, $3::int) n`,
    [TEAM, NOW, ROWS],
  );
  await pool.query(
    `insert into api_key
       (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at, revoked_at)
     select $1, 'key_' || lpad(n::text, 9, '0'), 'Import ' || n, lpad(n::text, 12, '0'),
       decode(repeat('00', 32), 'hex'), '{}', $4, ${at},
       case when n <= $3 - 10 then $2::timestamptz end
     from generate_series(1, $3::int) n`,
    [TEAM, NOW, ROWS, owner],
  );
  await pool.query(
    `insert into assignment (team_id, id, member_id, title, status, created_at)
     select $1, 'asg_' || lpad(n::text, 9, '0'), $4, 'Practise',
       case when n * 4 < $3 * 3 then 'done' else 'open' end, ${at}
     from generate_series(1, $3::int) n`,
    [TEAM, NOW, ROWS, owner],
  );
  const live = await pool.query(
    `select count(*)::int as keys
     from api_key
     where team_id = $1 and revoked_at is null and expires_at is null`,
    [TEAM],
  );
  liveKeys = live.rows[0].keys;
  await pool.query('vacuum analyze');
  await pool.end();
  databases = openByMode(api);
});

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  const read = (ask: (tx: Tx) => unknown) => rowsReadBy(databases.get(mode), ask);

  test('the overview of a team reads what it counts, and few rows more', async () => {
    let found: unknown;
    const rows = await read(async (tx) => {
      found = await findOverview(tx as unknown as Db, TEAM, NOW);
    });
    expect(found).toMatchObject({
      members: COUNT_MAX + 1,
      live_keys: liveKeys,
      webhook_endpoints: 0,
      waiting_deliveries: 2 * (COUNT_MAX + 1),
    });
    expect(rows).toBeLessThanOrEqual(3 * (COUNT_MAX + 1) + liveKeys + FEW);
  });

  test('so does the count of the open assignments of a member', async () => {
    let counted = 0;
    const rows = await read(async (tx) => {
      counted = await countOpenAssignments(tx as unknown as Db, TEAM, owner);
    });
    expect(counted).toBe(OPEN_COUNTED_MAX + 1);
    expect(rows).toBeLessThanOrEqual(OPEN_COUNTED_MAX + 1 + FEW);
  });
});
