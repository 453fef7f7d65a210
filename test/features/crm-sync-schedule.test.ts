// Which connections get a job to synchronize them, and which come first.
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { scheduleJob } from '../../src/features/crm/sync/jobs.ts';
import { scheduleDue, scheduleNext } from '../../src/features/crm/sync/service.ts';
import { crmTasks } from '../../src/features/crm/sync/tasks.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

const NOW = new Date('2026-11-20T10:00:00.000Z');
const clock = fixedClock(NOW);
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();

const DUE = {
  team_id: 'team_a',
  status: 'active',
  credentials: 'x',
  provider: 'hubspot',
  next_sync_at: at(0),
  sync_lease_until: null as string | null,
  failure_streak: 0,
  last_error: null as string | null,
  sync_state: null as object | null,
};

async function insert(api: TestApi, connections: Record<string, Partial<typeof DUE>>) {
  const rows = Object.entries(connections).map(([id, fields]) => ({ id, ...DUE, ...fields }));
  await api.db.pool.query(
    `insert into crm_connection (
       team_id, id, provider, status, created_at, credentials_encrypted, next_sync_at,
       sync_lease_until, failure_streak, last_error, sync_state
     )
     select team_id, id, provider, status, now(), credentials::bytea, next_sync_at,
       sync_lease_until, failure_streak, last_error, sync_state
     from json_to_recordset($1) as row (
       team_id text, id text, provider text, status text, credentials text,
       next_sync_at timestamptz, sync_lease_until timestamptz,
       failure_streak int, last_error text, sync_state jsonb
     )`,
    [JSON.stringify(rows)],
  );
}

async function scheduled(api: TestApi): Promise<string[]> {
  await scheduleDue(api.db, clock);
  const { rows } = await api.db.pool.query<{ id: string }>(
    `select payload ->> 'teamId' || ' ' || (payload ->> 'connectionId') as id
     from graphile_worker._private_jobs`,
  );
  return rows.map(({ id }) => id).toSorted();
}

test('those that are due, connected and not being synchronized, of active teams', async () => {
  const active = ['a', 'b', 'c', 'd', 'e'].map((name) => makeTeam(name));
  const teams = [...active, makeTeam('suspended', { status: 'suspended' })];
  const api = await startTestApi({ clock, seed: makeSeed(teams) });
  await insert(api, {
    due: {},
    overdue: { team_id: 'team_c', next_sync_at: at(-3600) },
    left_by_its_run: { team_id: 'team_d', sync_lease_until: at(0) },
    too_early: { team_id: 'team_e', next_sync_at: at(1) },
    held: { team_id: 'team_e', sync_lease_until: at(1) },
    paused: { team_id: 'team_e', status: 'paused' },
    of_a_seed_file: { team_id: 'team_e', credentials: null as never },
    of_a_suspended_team: { team_id: 'team_suspended' },
  });
  // The same id in two teams makes two jobs.
  await insert(api, { due: { team_id: 'team_b' } });
  expect(await scheduled(api)).toEqual([
    'team_a due',
    'team_b due',
    'team_c overdue',
    'team_d left_by_its_run',
  ]);
});

test.each([
  ['imports', ''],
  ['sandboxes', ':sandbox'],
])('the longest overdue first, 100 %s at a time', async (_what, end) => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
  const names = Array.from(
    { length: 101 },
    (_, number) => `${String(number).padStart(3, '0')}${end}`,
  );
  await api.db.pool.query(
    `insert into team (id, name, created_at)
     select 'team_' || name, 'T', now() from unnest($1::text[]) as of (name)`,
    [names],
  );
  const rows = names.map((name, number) => [
    `crm_${name}`,
    { team_id: `team_${name}`, next_sync_at: at(-number) },
  ]);
  await insert(api, Object.fromEntries(rows) as Record<string, Partial<typeof DUE>>);
  expect(await scheduled(api)).toEqual(names.slice(1).map((name) => `team_${name} crm_${name}`));
});

const FRESH = { since: {}, fullAt: at(-3600), round: null };
const GOING_ON = {
  ...FRESH,
  fullAt: null,
  round: { startedAt: at(-60), full: true, list: 'deals', cursor: '2', seen: {} },
};

const failed = (times: number) => ({ failure_streak: times, last_error: 'timeout' });

test.each<[lane: string, priority: number, Partial<typeof DUE>]>([
  ['hubspot_regular', 0, { sync_state: FRESH }],
  ['pipedrive_regular', 0, { sync_state: FRESH, provider: 'pipedrive' }],
  ['hubspot_long', 0, { sync_state: null }],
  ['hubspot_long', 1, { sync_state: { ...FRESH, fullAt: at(-24 * 3600) } }],
  ['hubspot_long', 1, { sync_state: GOING_ON }],
  ['hubspot_failing', 1, { sync_state: FRESH, ...failed(1) }],
  ['hubspot_failing', 2, { sync_state: null, ...failed(2) }],
  ['hubspot_failing', 10, { sync_state: GOING_ON, ...failed(500) }],
  // After a failure it has read some pages.
  ['hubspot_long', 1, { sync_state: GOING_ON, ...failed(2), last_error: null }],
])('a run is in the lane %s, with the priority %i: %j', async (lane, priority, connection) => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
  await insert(api, { one: connection });
  await scheduleDue(api.db, clock);
  const { rows } = await api.db.pool.query(
    `select regexp_replace(queue_name, '^crm_sync_(.*)_\\d+$', '\\1') as lane, priority
     from graphile_worker.jobs`,
  );
  expect(rows).toEqual([{ lane, priority }]);
});

test('whoever asks for a connection that is overdue does not move it back', async () => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
  await insert(api, {
    asked: { next_sync_at: at(-3600) },
    other: { next_sync_at: at(-60) },
    later: { next_sync_at: at(600) },
  });
  const app = appAs(
    api,
    await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' }, NOW),
  );
  const askFor = (id: string) => app.admin.crm.syncNow.mutate({ connection_id: id });
  for (const id of ['asked', 'later']) await askFor(id);
  const { rows } = await api.db.pool.query(
    `select id from crm_connection where next_sync_at <= $1 order by next_sync_at`,
    [at(0)],
  );
  expect(rows).toEqual([{ id: 'asked' }, { id: 'other' }, { id: 'later' }]);
});

test('an admin who asks schedules the connections of the own team alone', async () => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a'), makeTeam('b')]) });
  await insert(api, { one: {} });
  await insert(api, { one: { team_id: 'team_b' } });
  const job = scheduleJob('team_a');
  await crmTasks({
    db: api.db,
    clock,
    secrets: { current: TEST_APP_SECRET, previous: null },
    allowBaseUrl: true,
  })[job.task]?.(job.payload, {} as never);
  const { rows } = await api.db.pool.query(
    `select payload ->> 'teamId' as team_id from graphile_worker._private_jobs`,
  );
  expect(rows).toEqual([{ team_id: 'team_a' }]);
});

test('a team has one job in each queue, and the next one follows its run', async () => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a'), makeTeam('b')]) });
  await insert(api, {
    first: { next_sync_at: at(-3) },
    second: { next_sync_at: at(-2) },
    third: { next_sync_at: at(-1) },
    other: { provider: 'pipedrive' },
  });
  await insert(api, { first: { team_id: 'team_b' } });
  const soon = ['team_a first', 'team_a other', 'team_b first'];
  expect(await scheduled(api)).toEqual(soon);
  expect(await scheduled(api)).toEqual(soon);
  await api.db.pool.query(
    `update crm_connection set sync_lease_until = $1 where team_id = 'team_a' and id = 'first'`,
    [at(60)],
  );
  await api.db.pool.query('delete from graphile_worker._private_jobs');
  await scheduleNext(api.db, clock, 'team_a');
  const { rows } = await api.db.pool.query(
    `select payload ->> 'connectionId' as id from graphile_worker._private_jobs order by 1`,
  );
  expect(rows).toEqual([{ id: 'other' }, { id: 'second' }]);
});
