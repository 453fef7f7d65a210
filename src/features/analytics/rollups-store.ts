import type { ClientBase } from 'pg';
import { DIMENSIONS } from '../../core/dimensions.ts';
import type { Tx } from '../../db/client.ts';
import { statement } from '../../db/statement.ts';

/**
 * Recomputes the team's rollups from its trainings and evaluations. Needs a transaction during
 * which nobody else saves an evaluation of the team: a seed's team is not visible to others yet.
 *
 *  * A session is a training that has ended: it has a finish time, or the status `scored`.
 *  * A training is scored if it has an evaluation. An evaluation without a total counts as scored,
 *    but is in no sum.
 *  * A score belongs to the UTC day on which the training was created.
 *  * Only the dimensions of `core/dimensions.ts` count.
 *  * A person without an ended session and without a score has no row.
 */
export async function rebuildRollups(
  client: Pick<ClientBase, 'query'>,
  teamId: string,
): Promise<void> {
  for (const { text } of rebuilding()) await client.query(text, [teamId]);
}

/** The same in a transaction of the service. Does not wait: see `Tx.send`. */
export function sendRebuilding(tx: Tx, teamId: string): void {
  tx.send(LOOPS, [teamId, 'off']);
  for (const step of rebuilding()) tx.send(step, [teamId]);
  tx.send(LOOPS, [teamId, 'on']);
}

// The statistics know nothing of rows that were just written. Postgres takes them for one, and then
// may look through all evaluations of the team for each training: 10,000 took minutes. Asked for a
// row of the team, so that on Citus it holds at the node that has the rows.
const LOOPS = statement(
  'rollups.setLoops',
  `select set_config('enable_nestloop', $2, true) from team where id = $1`,
);

const rebuilding = () => [DELETE_PEOPLE, DELETE_WEEKS, INSERT_PEOPLE, INSERT_WEEKS];

const DELETE_PEOPLE = statement(
  'rollups.deletePeople',
  'DELETE FROM analytics_person WHERE team_id = $1',
);
const DELETE_WEEKS = statement(
  'rollups.deleteWeeks',
  'DELETE FROM analytics_person_week WHERE team_id = $1',
);

const sumOf = (name: string): string => `coalesce(sum((e.dimensions ->> '${name}')::bigint), 0)`;
const countOf = (name: string): string => `count(e.dimensions ->> '${name}')`;

const INSERT_PEOPLE = statement(
  'rollups.insertPeople',
  `
  INSERT INTO analytics_person (team_id, user_id, sessions, scored, total_sum, total_count,
      ${DIMENSIONS.map((name) => `${name}_sum, ${name}_count`).join(', ')})
  SELECT $1, t.user_id,
      count(*) FILTER (WHERE t.finished_at IS NOT NULL OR t.status = 'scored'),
      count(e.training_id), coalesce(sum(e.total), 0), count(e.total),
      ${DIMENSIONS.map((name) => `${sumOf(name)}, ${countOf(name)}`).join(', ')}
    FROM training t
    LEFT JOIN evaluation e ON e.team_id = t.team_id AND e.training_id = t.id
    WHERE t.team_id = $1
      AND (t.finished_at IS NOT NULL OR t.status = 'scored' OR e.training_id IS NOT NULL)
    GROUP BY t.user_id`,
);

const DAYS = [1, 2, 3, 4, 5, 6, 7];

const sumOfDay = (day: number): string =>
  `coalesce(sum(total) FILTER (WHERE day = ${day}), 0), count(*) FILTER (WHERE day = ${day})`;

// Inserted by week, the order in which the rows of a training team appear. A read of the last weeks
// then visits few pages.
const INSERT_WEEKS = statement(
  'rollups.insertWeeks',
  `
  INSERT INTO analytics_person_week (team_id, week, user_id, total_sum, total_count,
      ${DAYS.map((day) => `day${day}_sum, day${day}_count`).join(', ')})
  WITH score AS (
    SELECT t.user_id, e.total,
        date_trunc('week', t.created_at AT TIME ZONE 'UTC')::date AS week,
        extract(isodow FROM t.created_at AT TIME ZONE 'UTC')::int AS day
      FROM evaluation e
      JOIN training t ON t.team_id = e.team_id AND t.id = e.training_id
      WHERE e.team_id = $1 AND e.total IS NOT NULL
  )
  SELECT $1, week, user_id, sum(total), count(*),
      ${DAYS.map(sumOfDay).join(', ')}
    FROM score
    GROUP BY week, user_id
    ORDER BY week, user_id`,
);
