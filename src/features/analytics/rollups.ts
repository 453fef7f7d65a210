import type { ClientBase } from 'pg';

/**
 * Computes the team's rollups anew from its trainings and evaluations. Needs a transaction, in which nobody else saves an
 * evaluation of the team (a seed's team is not yet visible to others). A person with no ended session and no score has no row.
 *
 * A session is ended when it has a finish time or the status `scored`, and scored when it has an evaluation. A score belongs
 * to the UTC day on which the training was created; one without a total counts as scored and into no sum.
 */
export async function rebuildRollups(client: Pick<ClientBase, 'query'>, teamId: string): Promise<void> {
  await client.query('DELETE FROM analytics_person WHERE team_id = $1', [teamId]);
  await client.query('DELETE FROM analytics_person_week WHERE team_id = $1', [teamId]);
  await client.query(INSERT_PEOPLE, [teamId]);
  await client.query(INSERT_WEEKS, [teamId]);
}

const INSERT_PEOPLE = `
  INSERT INTO analytics_person (team_id, user_id, sessions, scored, total_sum, total_count, dimensions)
  WITH session AS (
    SELECT t.user_id,
        count(*) FILTER (WHERE t.finished_at IS NOT NULL OR t.status = 'scored') AS sessions,
        count(e.training_id) AS scored, coalesce(sum(e.total), 0) AS total_sum, count(e.total) AS total_count
      FROM training t LEFT JOIN evaluation e ON e.team_id = t.team_id AND e.training_id = t.id
      WHERE t.team_id = $1 GROUP BY t.user_id
  ), dimension AS (
    SELECT t.user_id, d.key AS name, sum(d.value::bigint) AS sum, count(*) AS count
      FROM evaluation e JOIN training t ON t.team_id = e.team_id AND t.id = e.training_id
        CROSS JOIN LATERAL jsonb_each_text(e.dimensions) d
      WHERE e.team_id = $1 AND d.value IS NOT NULL GROUP BY t.user_id, d.key
  ), dimensions AS (
    SELECT user_id, jsonb_object_agg(name, jsonb_build_array(sum, count)) AS dimensions FROM dimension GROUP BY user_id
  )
  SELECT $1, user_id, sessions, scored, total_sum, total_count, coalesce(dimensions, '{}')
    FROM session LEFT JOIN dimensions USING (user_id) WHERE sessions > 0 OR scored > 0`;

const DAYS = [1, 2, 3, 4, 5, 6, 7];

const INSERT_WEEKS = `
  INSERT INTO analytics_person_week (team_id, week, user_id, total_sum, total_count, day_sums, day_counts)
  WITH score AS (
    SELECT t.user_id, e.total, date_trunc('week', t.created_at AT TIME ZONE 'UTC')::date AS week,
        extract(isodow FROM t.created_at AT TIME ZONE 'UTC')::int AS day
      FROM evaluation e JOIN training t ON t.team_id = e.team_id AND t.id = e.training_id
      WHERE e.team_id = $1 AND e.total IS NOT NULL
  )
  SELECT $1, week, user_id, sum(total), count(*),
      ARRAY[${DAYS.map((day) => `coalesce(sum(total) FILTER (WHERE day = ${day}), 0)`).join(', ')}],
      ARRAY[${DAYS.map((day) => `count(*) FILTER (WHERE day = ${day})`).join(', ')}]
    FROM score GROUP BY week, user_id`;
