import { statement, type Db } from '../../db/client.ts';
import { WINDOW_DAYS, type Period, type TeamFigures } from './rules.ts';

interface TeamRow {
  readonly active_members: number;
  /** Sessions, scored, then sum and count of everything, of the last days, and of the days before those. */
  readonly people: readonly (readonly [number, number, number, number, number, number, number, number])[];
  readonly dimensions: readonly (readonly [string, number, number])[];
  readonly weeks: readonly (readonly [string, number, number])[];
}

// What of a week lies `age` days back or more. Only the weeks that the age cuts through look into their days.
function since(column: 'sum' | 'count', age: string): string {
  const days = [1, 2, 3, 4, 5, 6, 7].map(
    (day) => `case when monday_age - ${day - 1} >= ${age} then day_${column}s[${day}] else 0 end`,
  );
  return `sum(case when monday_age - 6 >= ${age} then total_${column} when monday_age < ${age} then 0 else ${days.join(' + ')} end)`;
}

// One pass over the weeks, grouped by week for the trend and by person for the windows. A window is the difference of two "since" columns.
const READ = statement<TeamRow>(
  'analytics.readTeam',
  `with active as materialized (select user_id from member where team_id = $1 and status = 'active'),
   part as materialized (
     select week, w.user_id, ${since('sum', '0')} as sum_0, ${since('count', '0')} as count_0, ${since('sum', '$4')} as sum_1,
       ${since('count', '$4')} as count_1, ${since('sum', '2 * $4')} as sum_2, ${since('count', '2 * $4')} as count_2
     from active a join (
       select *, $3::date - week as monday_age from analytics_person_week where team_id = $1 and week between $2::date and $3::date
     ) w on w.user_id = a.user_id
     group by grouping sets ((week), (w.user_id))
   ),
   person as materialized (select p.* from active a join analytics_person p on p.team_id = $1 and p.user_id = a.user_id)
   select (select count(*)::int from active) as active_members,
     (select coalesce(json_agg(json_build_array(p.sessions, p.scored, p.total_sum, p.total_count, coalesce(w.sum_0 - w.sum_1, 0),
        coalesce(w.count_0 - w.count_1, 0), coalesce(w.sum_1 - w.sum_2, 0), coalesce(w.count_1 - w.count_2, 0))), '[]')
      from person p left join part w on w.user_id = p.user_id) as people,
     (select coalesce(json_agg(json_build_array(d.name, d.sum, d.count)), '[]') from (
        select d.key as name, sum((d.value ->> 0)::bigint) as sum, sum((d.value ->> 1)::bigint) as count
        from person p cross join lateral jsonb_each(p.dimensions) d group by d.key) d) as dimensions,
     (select coalesce(json_agg(json_build_array(week, sum_0, count_0)), '[]') from part where week is not null) as weeks`,
);

/** The rollups of the active members. Reads no training, however many there are; one statement. */
export async function readTeam(db: Db, teamId: string, { today, weeks }: Period): Promise<TeamFigures> {
  const [row] = await db.query(READ, [teamId, weeks[0], today, WINDOW_DAYS]);
  if (!row) throw new Error('a select without a table returned no row');
  return {
    activeMembers: row.active_members,
    people: row.people.map(([sessions, scored, sum, count, recentSum, recentCount, previousSum, previousCount]) => ({
      sessions,
      scored,
      all: { sum, count },
      recent: { sum: recentSum, count: recentCount },
      previous: { sum: previousSum, count: previousCount },
    })),
    dimensions: new Map(row.dimensions.map(([name, sum, count]) => [name, { sum, count }])),
    weeks: new Map(row.weeks.map(([week, sum, count]) => [week, { sum, count }])),
  };
}
