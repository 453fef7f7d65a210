import { statement, type Db } from '../../db/client.ts';

/** One tip, as it is stored. */
export interface Tip {
  readonly issue: string;
  readonly moment: string;
  readonly principle: string;
  readonly rewrite: string;
  readonly impact: string;
}

/** An evaluation and the person of its training. */
export interface EvaluationRow {
  readonly training_id: string;
  readonly user_id: string;
  readonly total: number | null;
  readonly spread: number | null;
  readonly dimensions: Record<string, number>;
  readonly tips: Tip[];
  readonly goal: string | null;
  readonly methodology: string | null;
  readonly strongest: string | null;
  readonly biggest_lever: string | null;
}

const FIND = statement<EvaluationRow>(
  'evaluations.find',
  `select e.training_id, t.user_id, e.total, e.spread, e.dimensions, e.tips, e.goal,
     e.methodology, e.strongest, e.biggest_lever
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
