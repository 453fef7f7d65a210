import type { z } from 'zod';
import type { tip } from '../../core/evaluation-shapes.ts';
import { statement, type Tx } from '../../db/client.ts';
import { columnsOf, listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';

/** The part of a stored evaluation that a new one is compared with. */
export interface StoredRow extends RowOf<'Evaluation', 'saved_at' | 'total'> {
  readonly dimensions: Record<string, number>;
}

/** The training's evaluation, or null. Needs the person's lock. */
export const findStored = statement<StoredRow>(
  'evaluations.findStanding',
  `select saved_at, total, dimensions
   from evaluation
   where team_id = $1 and training_id = $2`,
).finds<[tx: Tx, teamId: string, trainingId: string]>();

const COLUMNS = columnsOf('Evaluation', 'team_id', 'stored_at');

/** An evaluation to save. `saved_at` is ISO, UTC, with milliseconds. */
export interface NewEvaluation extends RowOf<'Evaluation', (typeof COLUMNS)[number]> {
  readonly dimensions: Record<string, number>;
  readonly tips: z.output<typeof tip>[];
}

const SAVED = columnsOf('Evaluation', 'team_id', 'training_id', 'user_id', 'stored_at');

// The time of storage is the database's, whose clock all processes share.
const SAVE = statement(
  'evaluations.save',
  `insert into evaluation (team_id, training_id, user_id, ${listed(SAVED)}, stored_at)
   values ($1, $2, $3, ${parameters(SAVED, 4)}, clock_timestamp())
   on conflict (team_id, training_id) do update
   set ${SAVED.map((name) => `${name} = excluded.${name}`).join(', ')},
     stored_at = excluded.stored_at`,
);

/**
 * Inserts the training's evaluation or replaces it. Needs the person's lock. Send it last: others
 * see the row from COMMIT on, under the time at which this statement runs.
 */
export function saveEvaluation(tx: Tx, teamId: string, row: NewEvaluation): void {
  const stored = {
    ...row,
    dimensions: JSON.stringify(row.dimensions),
    tips: JSON.stringify(row.tips),
  };
  tx.send(SAVE, [teamId, row.training_id, row.user_id, ...valuesIn(SAVED, stored)]);
}
