import type { z } from 'zod';
import { orNull, toInstant } from '../../core/shapes.ts';
import { startInput, type endInput } from './platform-schema.ts';
import type { TrainingRow } from './store.ts';

/** The description that a call brings. A field that was left out is null. */
export function toDescription(
  input: z.output<typeof startInput>,
): Omit<TrainingRow, 'status' | 'finished_at' | 'duration_s'> {
  const { team_id: _team, training_id: id, created_at, ...described } = orNull(startInput, input);
  return { ...described, id, created_at: toInstant(created_at) };
}

/** The step of an ended training. */
export function toEnd(input: z.output<typeof endInput>) {
  return {
    kind: 'end',
    finishedAt: toInstant(input.finished_at),
    durationS: input.duration_s ?? null,
  } as const;
}
