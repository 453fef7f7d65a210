import { statement, type Tx } from '../../db/client.ts';
import type { EvaluationRow } from './store.ts';

/** The part of a stored evaluation that a new one is compared with. */
export interface StoredRow {
  readonly saved_at: string;
  readonly total: number | null;
  readonly dimensions: Record<string, number>;
}

const FIND = statement<StoredRow>(
  'evaluations.findStanding',
  `select saved_at, total, dimensions
   from evaluation
   where team_id = $1 and training_id = $2`,
);

/** The training's evaluation, or null. Needs the person's lock. */
export function findStored(tx: Tx, teamId: string, trainingId: string): Promise<StoredRow | null> {
  return tx.queryFirst(FIND, [teamId, trainingId]);
}

/** An evaluation to save. `saved_at` is ISO, UTC, with milliseconds. */
export interface NewEvaluation extends EvaluationRow {
  readonly saved_at: string;
}

const COLUMNS = [
  'saved_at',
  'total',
  'spread',
  'dimensions',
  'tips',
  'goal',
  'methodology',
  'strongest',
  'biggest_lever',
];

// The time of storage is the database's, whose clock all processes share.
const SAVE = statement(
  'evaluations.save',
  `insert into evaluation (team_id, training_id, user_id, ${COLUMNS.join(', ')}, stored_at)
   values ($1, $2, $3, ${COLUMNS.map((_, index) => `$${index + 4}`).join(', ')}, clock_timestamp())
   on conflict (team_id, training_id) do update
   set ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')},
     stored_at = excluded.stored_at`,
);

/**
 * Inserts the training's evaluation or replaces it. Needs the person's lock. Send it last: others
 * see the row from COMMIT on, under the time at which this statement runs.
 */
export function saveEvaluation(tx: Tx, teamId: string, row: NewEvaluation): void {
  tx.send(SAVE, [
    teamId,
    row.training_id,
    row.user_id,
    row.saved_at,
    row.total,
    row.spread,
    JSON.stringify(row.dimensions),
    JSON.stringify(row.tips),
    row.goal,
    row.methodology,
    row.strongest,
    row.biggest_lever,
  ]);
}
