import type { z } from 'zod';
import type { evaluation, tip } from '../../core/evaluation-shapes.ts';
import type { EvaluationRow } from './evaluation-store.ts';
import type { training } from './schema.ts';
import type { ScoredRow } from './store.ts';

type Tip = z.output<typeof tip>;

/** Fields in the specification's order. */
export function toTraining(row: ScoredRow): z.input<typeof training> {
  return {
    id: row.id,
    user_id: row.user_id,
    status: row.status,
    source: row.source,
    assignment_id: row.assignment_id,
    created_at: row.created_at,
    finished_at: row.finished_at,
    duration_s: row.duration_s,
    external_ref: row.external_ref,
    situation_id: row.situation_id,
    personality_id: row.personality_id,
    industry_id: row.industry_id,
    role_id: row.role_id,
    ...(row.evaluation !== undefined && {
      evaluation: row.evaluation && toEvaluation(row.evaluation),
    }),
  };
}

/** Fields in the specification's order. */
export function toEvaluation(row: EvaluationRow): z.input<typeof evaluation> {
  return {
    training_id: row.training_id,
    user_id: row.user_id,
    score: { dimensions: row.dimensions, total: row.total, spread: row.spread },
    tips: row.tips.map(toTip),
    goal: row.goal,
    methodology: row.methodology,
    strongest: row.strongest,
    biggest_lever: row.biggest_lever,
  };
}

/** Puts the fields in order, because jsonb does not keep the order of keys. */
function toTip({ issue, moment, principle, rewrite, impact }: Tip): Tip {
  return { issue, moment, principle, rewrite, impact };
}
