// Which connections get a job to synchronize them, and which come first.
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { scheduleDue } from '../../src/features/crm/sync/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const NOW = new Date('2026-11-20T10:00:00.000Z');
const clock = fixedClock(NOW);
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();

const DUE = {
  team_id: 'team_a',
  status: 'active',
  credentials: 'x',
  next_sync_at: at(0),
  sync_lease_until: null as string | null,
};

async function insert(api: TestApi, connections: Record<string, Partial<typeof DUE>>) {
  const rows = Object.entries(connections).map(([id, fields]) => ({ id, ...DUE, ...fields }));
  await api.db.pool.query(
    `insert into crm_connection (
       team_id, id, provider, status, created_at, credentials_encrypted, next_sync_at,
       sync_lease_until
     )
     select team_id, id, 'hubspot', status, now(), credentials::bytea, next_sync_at,
       sync_lease_until
     from json_to_recordset($1) as row (
       team_id text, id text, status text, credentials text, next_sync_at timestamptz,
       sync_lease_until timestamptz
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
  const teams = [makeTeam('a'), makeTeam('b'), makeTeam('suspended', { status: 'suspended' })];
  const api = await startTestApi({ clock, seed: makeSeed(teams) });
  await insert(api, {
    due: {},
    overdue: { next_sync_at: at(-3600) },
    left_by_its_run: { sync_lease_until: at(0) },
    too_early: { next_sync_at: at(1) },
    held: { sync_lease_until: at(1) },
    paused: { status: 'paused' },
    of_a_seed_file: { credentials: null as never },
    of_a_suspended_team: { team_id: 'team_suspended' },
  });
  // The same id in two teams makes two jobs.
  await insert(api, { due: { team_id: 'team_b' } });
  expect(await scheduled(api)).toEqual([
    'team_a due',
    'team_a left_by_its_run',
    'team_a overdue',
    'team_b due',
  ]);
});

test('the longest overdue first, 1000 at a time', async () => {
  const api = await startTestApi({ clock, seed: makeSeed([makeTeam('a')]) });
  const ids = Array.from({ length: 1001 }, (_, number) => `crm_${String(number).padStart(4, '0')}`);
  await insert(
    api,
    Object.fromEntries(ids.map((id, number) => [id, { next_sync_at: at(-number) }])),
  );
  expect(await scheduled(api)).toEqual(ids.slice(1).map((id) => `team_a ${id}`));
});
