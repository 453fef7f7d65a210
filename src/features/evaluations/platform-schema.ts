import { z } from 'zod';
import { DIMENSIONS } from '../../core/dimensions.ts';
import { TIPS_MAX, type tip } from '../../core/evaluation-shapes.ts';
import {
  hostId,
  hostScore,
  hostText,
  requiredHostText,
  teamInput,
} from '../../core/platform-shapes.ts';
import { dateTime, dateTimeInput, listOf } from '../../core/shapes.ts';

const dimensions = Object.fromEntries(
  DIMENSIONS.map((dimension) => [dimension, hostScore.exactOptional()]),
) as Record<(typeof DIMENSIONS)[number], z.ZodExactOptional<typeof hostScore>>;

const tipInput = z.strictObject({
  issue: requiredHostText,
  moment: requiredHostText,
  principle: requiredHostText,
  rewrite: requiredHostText,
  impact: requiredHostText,
} satisfies Record<keyof typeof tip.shape, z.ZodType>);

/** A training's evaluation as the host application saves it. */
export const saveInput = z.strictObject({
  ...teamInput,
  training_id: hostId,
  /** When the evaluation was made. Of two, the later one is kept. */
  saved_at: dateTimeInput,
  score: z.strictObject({
    dimensions: z.strictObject(dimensions),
    total: hostScore.nullable(),
    spread: z.number().nullable(),
  }),
  tips: listOf(tipInput, { max: TIPS_MAX }).default([]),
  goal: hostText,
  methodology: hostId.nullable().optional(),
  strongest: hostText,
  biggest_lever: hostText,
});

/** `saved_at` is that of the stored evaluation, which may be another one that was made later. */
export const saveOutput = z.object({ training_id: z.string(), saved_at: dateTime });
