// Counts naively what the rollups of analytics should hold, and reads what they hold.
import type pg from 'pg';
import { DIMENSIONS } from '../../src/core/dimensions.ts';

/** A client that reads dates and timestamps as text, as the service's own pool does. */
type Client = Pick<pg.Client, 'query'>;

/** The rollups of a team, by user id and by `<user id> <Monday of the week>`. */
export interface Rollups {
  readonly people: Record<string, Person>;
  readonly weeks: Record<string, Week>;
}

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

/** Counts what the rollups should hold, one training after the other. */
export async function recount(client: Client, teamId: string): Promise<Rollups> {
  const { rows } = await client.query<Session>(
    `SELECT t.user_id, t.status, t.created_at, t.finished_at,
       e.training_id IS NOT NULL AS scored, e.total, e.dimensions
     FROM training t
     LEFT JOIN evaluation e ON e.team_id = t.team_id AND e.training_id = t.id
     WHERE t.team_id = $1`,
    [teamId],
  );
  const people: Record<string, Person> = {};
  const weeks: Record<string, Week> = {};
  for (const row of rows) {
    const ended = row.finished_at !== null || row.status === 'scored';
    if (!ended && !row.scored) continue;
    const person = (people[row.user_id] ??= {
      sessions: 0,
      scored: 0,
      total_sum: 0,
      total_count: 0,
      dimensions: {},
    });
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

/** Reads what the rollups hold. */
export async function readRollups(client: Client, teamId: string): Promise<Rollups> {
  const scores = DIMENSIONS.map(
    (name) =>
      `'${name}', nullif(json_build_array(${name}_sum, ${name}_count)::text, '[0, 0]')::json`,
  );
  const people = await client.query<Person & { user_id: string }>(
    `SELECT user_id, sessions, scored, total_sum::int, total_count,
       json_strip_nulls(json_build_object(${scores.join(', ')})) AS dimensions
     FROM analytics_person
     WHERE team_id = $1`,
    [teamId],
  );
  const days = (column: string) =>
    [1, 2, 3, 4, 5, 6, 7].map((day) => `day${day}_${column}`).join(', ');
  const weeks = await client.query<Week & { user_id: string; week: string }>(
    `SELECT user_id, week, total_sum, total_count,
       ARRAY[${days('sum')}] AS day_sums, ARRAY[${days('count')}] AS day_counts
     FROM analytics_person_week
     WHERE team_id = $1`,
    [teamId],
  );
  return {
    people: Object.fromEntries(people.rows.map(({ user_id, ...rest }) => [user_id, rest])),
    weeks: Object.fromEntries(
      weeks.rows.map(({ user_id, week, ...rest }) => [`${user_id} ${week}`, rest]),
    ),
  };
}
