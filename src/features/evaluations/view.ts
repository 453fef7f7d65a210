import type { z } from 'zod';
import type { evaluation } from './schema.ts';
import type { EvaluationRow, Tip } from './store.ts';

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
