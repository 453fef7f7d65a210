import type { z } from 'zod';
import { toInstant } from '../../core/shapes.ts';
import type { endInput, startInput } from './platform-schema.ts';
import type { TrainingRow } from './store.ts';

/** The description that a call brings. A field that was left out is null. */
export function toDescription(
  input: z.output<typeof startInput>,
): Omit<TrainingRow, 'status' | 'finished_at' | 'duration_s'> {
  return {
    id: input.training_id,
    user_id: input.user_id,
    source: input.source,
    assignment_id: input.assignment_id ?? null,
    created_at: toInstant(input.created_at),
    external_ref: input.external_ref ?? null,
    situation_id: input.situation_id ?? null,
    personality_id: input.personality_id ?? null,
    industry_id: input.industry_id ?? null,
    role_id: input.role_id ?? null,
  };
}

/** The step of an ended training. */
export function toEnd(input: z.output<typeof endInput>) {
  return {
    kind: 'end',
    finishedAt: toInstant(input.finished_at),
    durationS: input.duration_s ?? null,
  } as const;
}
