import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/dimensions.ts';
import { rebuildRollups } from '../../src/features/analytics/rollups.ts';
import { loadSeed } from '../../src/seed/load.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
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
  // The same person ids in another team, and the edges of days, weeks and years.
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
  await loadSeed(database.url, { ...file, teams: [...file.teams, edges] }, { replace: false, appSecret: APP_SECRET });
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

interface Person {
  sessions: number;
  scored: number;
  total_sum: number;
  total_count: number;
  dimensions: Record<string, [number, number]>;
}

interface Week {
  total_sum: number;
  total_count: number;
  day_sums: number[];
  day_counts: number[];
}

interface Session {
  user_id: string;
  status: string;
  created_at: string;
  finished_at: string | null;
  scored: boolean;
  total: number | null;
  dimensions: Record<string, number> | null;
}

/** What the rollups must be, one session after the other. */
async function recount(teamId: string): Promise<{ people: Record<string, Person>; weeks: Record<string, Week> }> {
  const { rows } = await client.query<Session>(
    `SELECT t.user_id, t.status, t.created_at, t.finished_at, e.training_id IS NOT NULL AS scored, e.total, e.dimensions
       FROM training t LEFT JOIN evaluation e ON e.team_id = t.team_id AND e.training_id = t.id WHERE t.team_id = $1`,
    [teamId],
  );
  const people: Record<string, Person> = {};
  const weeks: Record<string, Week> = {};
  for (const row of rows) {
    const ended = row.finished_at !== null || row.status === 'scored';
    if (!ended && !row.scored) continue;
    const person = (people[row.user_id] ??= { sessions: 0, scored: 0, total_sum: 0, total_count: 0, dimensions: {} });
    if (ended) person.sessions += 1;
    if (row.scored) person.scored += 1;
    for (const [name, value] of Object.entries(row.dimensions ?? {})) {
      const pair = (person.dimensions[name] ??= [0, 0]);
      pair[0] += value;
      pair[1] += 1;
    }
    if (row.total === null) continue;
    person.total_sum += row.total;
    person.total_count += 1;
    addToWeek(weeks, row, row.total);
  }
  return { people, weeks };
}

function addToWeek(weeks: Record<string, Week>, row: Session, total: number): void {
  const at = new Date(row.created_at);
  const day = (at.getUTCDay() + 6) % 7;
  const monday = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() - day))
    .toISOString()
    .slice(0, 10);
  const week = (weeks[`${row.user_id} ${monday}`] ??= {
    total_sum: 0,
    total_count: 0,
    day_sums: Array(7).fill(0),
    day_counts: Array(7).fill(0),
  });
  week.total_sum += total;
  week.total_count += 1;
  week.day_sums[day] = (week.day_sums[day] ?? 0) + total;
  week.day_counts[day] = (week.day_counts[day] ?? 0) + 1;
}

async function readRollups(teamId: string): Promise<Awaited<ReturnType<typeof recount>>> {
  const scores = DIMENSIONS.map(
    (name) => `'${name}', nullif(json_build_array(${name}_sum, ${name}_count)::text, '[0, 0]')::json`,
  );
  const people = await client.query<Person & { user_id: string }>(
    `SELECT user_id, sessions, scored, total_sum::int, total_count, json_strip_nulls(json_build_object(${scores.join(', ')})) AS dimensions
       FROM analytics_person WHERE team_id = $1`,
    [teamId],
  );
  const days = (column: string) => [1, 2, 3, 4, 5, 6, 7].map((day) => `day${day}_${column}`).join(', ');
  const weeks = await client.query<Week & { user_id: string; week: string }>(
    `SELECT user_id, week, total_sum, total_count, ARRAY[${days('sum')}] AS day_sums, ARRAY[${days('count')}] AS day_counts
       FROM analytics_person_week WHERE team_id = $1`,
    [teamId],
  );
  return {
    people: Object.fromEntries(people.rows.map(({ user_id, ...rest }) => [user_id, rest])),
    weeks: Object.fromEntries(weeks.rows.map(({ user_id, week, ...rest }) => [`${user_id} ${week}`, rest])),
  };
}

describe('rollups after a seed', () => {
  it.each(['team_a', 'team_edges'])('equal a recount, one session after the other (%s)', async (teamId) => {
    const expected = await recount(teamId);
    expect(Object.keys(expected.weeks).length).toBeGreaterThan(1);
    expect(await readRollups(teamId)).toEqual(expected);
  });

  it('put a score on the UTC day of its training, in the week of its Monday', async () => {
    const { people, weeks } = await readRollups('team_edges');
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

  it('are the same when they are computed again, whatever the time zone of the session', async () => {
    const before = await readRollups('team_edges');
    await client.query(`SET timezone = 'Pacific/Auckland'`);
    await rebuildRollups(client, 'team_edges');
    await client.query('RESET timezone');
    expect(await readRollups('team_edges')).toEqual(before);
  });
});
