import { statement, type Tx } from '../../db/client.ts';
import type { EvaluationRow } from './store.ts';

export interface StandingRow {
  readonly saved_at: string;
  readonly total: number | null;
  readonly dimensions: Record<string, number>;
}

const FIND = statement<StandingRow>(
  'evaluations.findStanding',
  'select saved_at, total, dimensions from evaluation where team_id = $1 and training_id = $2',
);

/** What stands of the training's evaluation. Only under the person's lock. */
export async function findStanding(
  tx: Tx,
  teamId: string,
  trainingId: string,
): Promise<StandingRow | null> {
  const [row] = await tx.query(FIND, [teamId, trainingId]);
  return row ?? null;
}

export interface NewEvaluation extends Omit<EvaluationRow, 'user_id'> {
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

const SAVE = statement(
  'evaluations.save',
  `insert into evaluation (team_id, training_id, ${COLUMNS.join(', ')}) values ($1, $2, ${COLUMNS.map((_, index) => `$${index + 3}`).join(', ')})
   on conflict (team_id, training_id) do update set ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
);

export function saveEvaluation(tx: Tx, teamId: string, row: NewEvaluation): void {
  tx.send(SAVE, [
    teamId,
    row.training_id,
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
