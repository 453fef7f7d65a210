// What is read of a person, and of the creation of a team, is bounded by the memberships of that
// person, however many the team has. The figures are rows.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import * as people from '../../src/features/members/platform-store.ts';
import * as teams from '../../src/features/team-lifecycle/store.ts';
import { startTestApi } from '../support/api.ts';
import { appAsPlatform } from '../support/app.ts';
import type { Mode } from '../support/plans.ts';
import { openSturdyPool } from '../support/pool.ts';
import { openByMode, rowsReadBy } from '../support/rows-read.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const TEAM = 'team_big';
/** Of each kind. More of them change nothing; it may be set to try that. */
const ROWS = Number(process.env['ROWS'] ?? 20_000);
const FEW = 10;

let databases: ReadonlyMap<Mode, Database>;
let ownerId: string;

beforeAll(async () => {
  const api = await startTestApi({ seed: makeSeed([makeTeam('other')]) });
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
  await pool.query('vacuum analyze');
  await pool.end();
  databases = await openByMode(api);
}, 3_600_000);

const cases: readonly (readonly [what: string, ask: (tx: Tx) => unknown])[] = [
  ['the memberships of a person', (tx) => people.listMembershipsOfPerson(tx, TEAM, 'usr_first')],
  ['what a team was created with', (tx) => teams.findCreation(tx, TEAM, 'usr_first')],
  ['whether to forget that', (tx) => people.forgetCreation(tx, TEAM, [ownerId])],
];

describe.each<Mode>(['generic', 'custom'])('with a %s plan', (mode) => {
  test.each(cases)('%s: few rows are read', async (_what, ask) => {
    const read = await rowsReadBy(databases.get(mode), ask);
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(FEW);
  });
});
