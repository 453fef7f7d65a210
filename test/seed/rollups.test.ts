import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rebuildRollups } from '../../src/features/analytics/rollups-store.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { readRollups, recount } from '../support/rollups.ts';
import { APP_SECRET, fullFile, openClient, tinyTeam } from './full-file.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await openClient(database.url);
  const file = fullFile();
  const member = { user_id: 'usr_o' };
  const scored = (created_at: string, total: number | null) => ({
    ...member,
    status: 'scored',
    created_at,
    evaluation: { score: { total, dimensions: { closing: 3 } } },
  });
  // Another team with the same user ids, and trainings at the edges of days, weeks and years.
  const edges = tinyTeam('team_edges', {
    trainings: [
      scored('2026-01-04T23:59:59.999Z', 10),
      scored('2026-01-05T00:00:00Z', 20),
      scored('2026-01-05T00:30:00+02:00', 40),
      scored('2024-12-30T12:00:00Z', 80),
      scored('2026-01-05T00:00:00Z', null),
      { ...member, status: 'completed', finished_at: '2026-01-05T00:00:00Z' },
      { ...member, status: 'started' },
    ],
  });
  await loadSeed(
    database.url,
    { ...file, teams: [...file.teams, edges] },
    { replace: false, appSecret: APP_SECRET },
  );
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

describe('rollups after a seed', () => {
  it.each(['team_a', 'team_edges'])(
    'equal a recount, one session after the other (%s)',
    async (teamId) => {
      const expected = await recount(client, teamId);
      expect(Object.keys(expected.weeks).length).toBeGreaterThan(1);
      expect(await readRollups(client, teamId)).toEqual(expected);
    },
  );

  it('put a score on the UTC day of its training, in the week of its Monday', async () => {
    const { people, weeks } = await readRollups(client, 'team_edges');
    expect(people['usr_o']).toEqual({
      sessions: 6,
      scored: 5,
      total_sum: 150,
      total_count: 4,
      dimensions: { closing: [15, 5] },
    });
    expect(weeks).toEqual({
      'usr_o 2024-12-30': {
        total_sum: 80,
        total_count: 1,
        day_sums: [80, 0, 0, 0, 0, 0, 0],
        day_counts: [1, 0, 0, 0, 0, 0, 0],
      },
      'usr_o 2025-12-29': {
        total_sum: 50,
        total_count: 2,
        day_sums: [0, 0, 0, 0, 0, 0, 50],
        day_counts: [0, 0, 0, 0, 0, 0, 2],
      },
      'usr_o 2026-01-05': {
        total_sum: 20,
        total_count: 1,
        day_sums: [20, 0, 0, 0, 0, 0, 0],
        day_counts: [1, 0, 0, 0, 0, 0, 0],
      },
    });
  });

  it('are the same when computed again in another time zone of the session', async () => {
    const before = await readRollups(client, 'team_edges');
    await client.query(`SET timezone = 'Pacific/Auckland'`);
    await rebuildRollups(client, 'team_edges');
    await client.query('RESET timezone');
    expect(await readRollups(client, 'team_edges')).toEqual(before);
  });
});
