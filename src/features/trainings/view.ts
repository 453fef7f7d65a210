import type { z } from 'zod';
import type { training } from './schema.ts';
import type { TrainingRow } from './store.ts';

/** Fields in the specification's order. */
export function toTraining(row: TrainingRow): z.input<typeof training> {
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
  };
}
