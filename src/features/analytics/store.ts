import { DIMENSIONS } from '../../core/dimensions.ts';
import { statement, type Db } from '../../db/client.ts';
import {
  NEWEST,
  WINDOW_DAYS,
  type Evaluated,
  type Period,
  type TeamFigures,
  type WholeFigures,
} from './rules.ts';

interface TeamRow {
  readonly active_members: number;
  /** Sessions and scored; then sum and count of all, of the last window, and of the one before. */
  readonly people: readonly (readonly [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ])[];
  /** Sum and count of each of DIMENSIONS. */
  readonly dimensions: readonly (readonly [number, number])[];
  readonly weeks: readonly (readonly [string, number, number])[];
}

// A day's age is the number of whole windows between it and today: 0 is the last window, 1 the one
// before. A week has the age of its Monday. Its days after the first `young_from` + 1 belong to the
// next younger window, or lie in the future; from 6 on there are none. A week contains at most one
// such edge. `untilEdge` is the sum of the days before it, which have the week's age.
function untilEdge(column: 'sum' | 'count'): string {
  const days = [2, 3, 4, 5, 6].map(
    (day) => `case when young_from >= ${day - 1} then day${day}_${column} else 0 end`,
  );
  return `case
      when young_from >= 6 then total_${column}
      else day1_${column} + ${days.join(' + ')}
    end`;
}

// The sum of the days of that age. Of weeks that are one window older, the days after the edge.
function inWindow(column: 'sum' | 'count', age: number): string {
  return `sum(case age
      when ${age} then old_${column}
      when ${age + 1} then total_${column} - old_${column}
      else 0
    end)`;
}

// For the current week the edge is today: scores of later days do not count.
function upToToday(column: 'sum' | 'count'): string {
  return `case when age = 0 then old_${column} else total_${column} end`;
}

// A hash table, not a join. The generic plan of a prepared statement takes a large team for an
// average one, and would make a join a nested loop. "is true" keeps the planner from turning the
// condition into a join. For the same reason the other join is a full one.
const IS_ACTIVE = '(user_id in (select user_id from active)) is true';

function sumAndCount(dimension: string): string {
  return `json_build_array(
         coalesce(sum(${dimension}_sum), 0), coalesce(sum(${dimension}_count), 0)
       )`;
}

const scoreText = (condition: string): string => `
     select week, user_id, age, total_sum, total_count,
       ${untilEdge('sum')} as old_sum,
       ${untilEdge('count')} as old_count
     from (
       select *, ($3::date - week) / $4 as age, ($3::date - week) % $4 as young_from
       from analytics_person_week
       where team_id = $1 and week between $2::date and $3::date${condition}
     ) w`;

// One pass over the weeks, grouped by week for the trend and by person for the windows.
const READ = statement<TeamRow>(
  'analytics.readTeam',
  `with active as materialized (
     select user_id
     from member
     where team_id = $1 and status = 'active'
   ),
   person as materialized (
     select *
     from analytics_person
     where team_id = $1 and ${IS_ACTIVE}
   ),
   score as (${scoreText(` and ${IS_ACTIVE}`)}
   ),
   part as materialized (
     select week, user_id,
       sum(${upToToday('sum')}) as week_sum, sum(${upToToday('count')}) as week_count,
       ${inWindow('sum', 0)} as recent_sum, ${inWindow('count', 0)} as recent_count,
       ${inWindow('sum', 1)} as previous_sum, ${inWindow('count', 1)} as previous_count
     from score
     group by grouping sets ((week), (user_id))
   )
   select (select count(*)::int from active) as active_members,
     (
       select coalesce(to_json(array_agg(array[
         p.sessions, p.scored, p.total_sum, p.total_count,
         coalesce(w.recent_sum, 0), coalesce(w.recent_count, 0),
         coalesce(w.previous_sum, 0), coalesce(w.previous_count, 0)
       ])), '[]')
       from person p
       full join (select * from part where week is null) w on w.user_id = p.user_id
     ) as people,
     (
       select json_build_array(${DIMENSIONS.map(sumAndCount).join(', ')})
       from person
     ) as dimensions,
     (
       select coalesce(json_agg(json_build_array(week, week_sum, week_count)), '[]')
       from part
       where week is not null
     ) as weeks`,
);

/** Reads the rollups of the active members, in one statement. Reads no trainings. */
export async function readTeam(
  db: Db,
  teamId: string,
  { today, weeks }: Period,
): Promise<TeamFigures> {
  const [row] = await db.query(READ, [teamId, weeks[0], today, WINDOW_DAYS]);
  if (!row) throw new Error('a select without a table returned no row');
  return {
    activeMembers: row.active_members,
    people: row.people.map(
      ([sessions, scored, sum, count, recentSum, recentCount, previousSum, previousCount]) => ({
        sessions,
        scored,
        all: { sum, count },
        recent: { sum: recentSum, count: recentCount },
        previous: { sum: previousSum, count: previousCount },
      }),
    ),
    dimensions: dimensionsOf(row),
    weeks: new Map(row.weeks.map(([week, sum, count]) => [week, { sum, count }])),
  };
}

/** Leaves out dimensions without a score. */
function dimensionsOf(row: Pick<TeamRow, 'dimensions'>): TeamFigures['dimensions'] {
  const scores = row.dimensions.map(
    ([sum, count], index) => [DIMENSIONS[index] ?? '', { sum, count }] as const,
  );
  return new Map(scores.filter(([, { count }]) => count > 0));
}

interface WholeRow extends Pick<TeamRow, 'active_members' | 'dimensions'> {
  /** Sessions, scored, sum and count. */
  readonly totals: readonly [number, number, number, number];
  /** Monday, sum, count, and of how many people. */
  readonly weeks: readonly (readonly [string, number, number, number])[];
  readonly newest: readonly (readonly [
    string,
    string | null,
    number,
    number | null,
    Evaluated['dimensions'],
  ])[];
}

const READ_WHOLE = statement<WholeRow>(
  'analytics.readWhole',
  `with score as (${scoreText('')}
   ),
   newest as materialized (
     select user_id, training_id, total, dimensions, stored_at
     from evaluation
     where team_id = $1
     order by stored_at desc, training_id desc
     limit ${NEWEST}
   )
   select (select count(*)::int from member where team_id = $1 and status = 'active')
       as active_members,
     (
       select json_build_array(
         coalesce(sum(sessions), 0), coalesce(sum(scored), 0),
         coalesce(sum(total_sum), 0), coalesce(sum(total_count), 0)
       )
       from analytics_person
       where team_id = $1
     ) as totals,
     (
       select json_build_array(${DIMENSIONS.map(sumAndCount).join(', ')})
       from analytics_person
       where team_id = $1
     ) as dimensions,
     (
       select coalesce(json_agg(json_build_array(week, sum, count, people)), '[]')
       from (
         select week, sum(sum) as sum, sum(count) as count,
           count(*) filter (where count > 0) as people
         from (
           select week, ${upToToday('sum')} as sum, ${upToToday('count')} as count
           from score
         ) shown
         group by week
       ) w
     ) as weeks,
     (
       select coalesce(
         json_agg(
           json_build_array(
             n.user_id, case when t.day <= $3::date then t.week end,
             (
               select coalesce(max(total_count), 0)
               from analytics_person_week
               where team_id = $1 and week = t.week and user_id = n.user_id
             ),
             n.total, n.dimensions
           )
           order by n.stored_at desc, n.training_id desc
         ),
         '[]'
       )
       from newest n
       cross join lateral (
         select (created_at at time zone 'UTC')::date as day,
           date_trunc('week', created_at at time zone 'UTC')::date as week
         from training
         where team_id = $1 and id = n.training_id
         limit 1
       ) t
     ) as newest`,
  { inOrder: true },
);

/** Reads the rollups of everybody and the newest evaluations, in one statement. */
export async function readWhole(
  db: Db,
  teamId: string,
  { today, weeks }: Period,
): Promise<WholeFigures> {
  const [row] = await db.query(READ_WHOLE, [teamId, weeks[0], today, WINDOW_DAYS]);
  if (!row) throw new Error('a select without a table returned no row');
  const [sessions, scored, sum, count] = row.totals;
  return {
    activeMembers: row.active_members,
    sessions,
    scored,
    all: { sum, count },
    dimensions: dimensionsOf(row),
    weeks: new Map(row.weeks.map(([week, sum, count, people]) => [week, { sum, count, people }])),
    newest: row.newest.map(([userId, week, inWeek, total, dimensions]) => ({
      userId,
      week,
      inWeek,
      total,
      dimensions,
    })),
  };
}
