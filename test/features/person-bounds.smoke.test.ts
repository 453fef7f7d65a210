// What is read of a person, and of the creation of a team, is bounded by the memberships of that
// person, however many the team has. The figures are rows.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { forgetKeptDetails } from '../../src/db/kept-responses.ts';
import { NOTHING_TOUCHED, touchAssignments } from '../../src/features/assignments/store.ts';
import * as people from '../../src/features/members/platform-store.ts';
import * as teams from '../../src/features/team-lifecycle/store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsPlatform } from '../support/app.ts';
import type { Mode } from '../support/plans.ts';
import { openSturdyPool } from '../support/pool.ts';
import { openByMode, rowsReadBy } from '../support/rows-read.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const TEAM = 'team_big';
/** Of each kind. More of them change nothing. */
const ROWS = 11_000;
const FEW = 10;

let api: TestApi;
let databases: ReadonlyMap<Mode, Database>;
let ownerId: string;

beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('other')]) });
  const { platform } = await appAsPlatform(api);
  const owner = { user_id: 'usr_first', email: 'first@big.test' };
  const created = await platform.teams.create.mutate({ team_id: TEAM, name: 'Big', owner });
  ownerId = created.owner_member_id;
  const pool = openSturdyPool(api.databaseUrl, 1);
  // Invitations that ended, and open ones.
  await pool.query(
    `insert into member (team_id, id, email, role, status, created_at, ended_at)
     select $1, status || n, case when status = 'invited' then n || '@x.test' end, 'member', status,
       now(), case when status = 'ended' then now() end
     from generate_series(1, $2::int) n, unnest('{invited,ended}'::text[]) status`,
    [TEAM, ROWS],
  );
  // Beside many small teams a generic plan expects few open invitations of a team.
  await pool.query(
    `with n as (select 't' || n as team_id from generate_series(1, $1::int) n),
       t as (insert into team (id, name, created_at) select team_id, 'T', now() from n),
       p as (insert into person (team_id, id) select team_id, 'usr_1' from n)
     insert into member (team_id, id, user_id, email, role, status, created_at, joined_at)
     select team_id, 'm1', 'usr_1', 'm1@x.test', 'member', 'active', now(), now()
     from n`,
    [ROWS],
  );
  // Of one person many, and nearly as many of others between any two of them.
  await pool.query(
    `insert into assignment (team_id, id, member_id, title, status, created_at)
     select $1, 'a' || lpad(n::text, 9, '0'),
       case when n % 10 = 0 then $3 else 'ended' || n end, 'Practise', 'done', now()
     from generate_series(1, $2::int) n`,
    [TEAM, ROWS, ownerId],
  );
  // Kept responses: many of the team, one of each small team.
  await pool.query(
    `insert into idempotency_record (
       team_id, key, fingerprint, status, body, encrypted, created_at, open_body, key_id,
       subject_id, other_subject_ids
     )
     select team_id, 'k' || n, '\\x00', 201, '\\x00', true, now(), '\\x00', 'key', 'mem_' || n,
       case when n % 10 = 0 then array['other_' || n] end
     from (
       select $1 as team_id, n
       from generate_series(1, $2::int) n
       union all
       select 't' || n, n
       from generate_series(1, $2::int) n
     ) of_teams`,
    [TEAM, ROWS],
  );
  await pool.query('vacuum analyze');
  await pool.end();
  databases = openByMode(api);
});

const cases: readonly (readonly [what: string, ask: (tx: Tx) => unknown])[] = [
  ['the memberships of a person', (tx) => people.listMembershipsOfPerson(tx, TEAM, 'usr_first')],
  ['what a team was created with', (tx) => teams.findCreation(tx, TEAM, 'usr_first')],
  ['whether to forget that', (tx) => people.forgetCreation(tx, TEAM, [ownerId])],
];

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test('what touches the assignments of a person reads them, and no others', async () => {
    const read = await rowsReadBy(databases.get(mode), (tx) =>
      touchAssignments(tx, TEAM, ownerId, NOTHING_TOUCHED),
    );
    // Each is found, locked and changed.
    expect(read).toBeGreaterThan(1_000);
    expect(read).toBeLessThanOrEqual(3_000 + FEW);
  });

  test.each(cases)('%s: few rows are read', async (_what, ask) => {
    const read = await rowsReadBy(databases.get(mode), ask);
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(FEW);
  });
});

/** Then a session may keep one plan for all teams. Most are small. */
const UNTIL_ONE_PLAN = 8;

test('of kept responses those of the members are read, however many the team has', async () => {
  const read: number[] = [];
  for (let n = 1; n <= UNTIL_ONE_PLAN; n += 1)
    read.push(await rowsReadBy(api.db, (tx) => forgetKeptDetails(tx, TEAM, ['mem_7', 'other_10'])));
  expect(Math.min(...read)).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThanOrEqual(FEW);
});
