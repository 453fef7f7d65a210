import { statement, type Db } from '../../db/client.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';

/** One tip, as it is stored. */
export interface Tip {
  readonly issue: string;
  readonly moment: string;
  readonly principle: string;
  readonly rewrite: string;
  readonly impact: string;
}

const SHOWN = columnsOf('Evaluation', 'team_id', 'saved_at', 'stored_at');

/** An evaluation and the person of its training. */
export interface EvaluationRow extends RowOf<'Evaluation', (typeof SHOWN)[number]> {
  readonly dimensions: Record<string, number>;
  readonly tips: Tip[];
}

const FIND = statement<EvaluationRow>(
  'evaluations.find',
  `select ${listed(SHOWN, 'e.')}
   from evaluation e
   join training t on t.team_id = e.team_id and t.id = e.training_id
   where e.team_id = $1
     and e.training_id = $2
     and exists (
       select
       from member m
       where m.team_id = $1 and m.user_id = t.user_id and m.status = 'active'
     )`,
);

/** The evaluation of an active member's training; null if there is none. */
export function findEvaluation(
  db: Db,
  teamId: string,
  trainingId: string,
): Promise<EvaluationRow | null> {
  return db.queryFirst(FIND, [teamId, trainingId]);
}
