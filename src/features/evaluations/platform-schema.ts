import { z } from 'zod';
import { DIMENSIONS } from '../../core/dimensions.ts';
import { hostId, hostScore, hostText, teamInput } from '../../core/platform-shapes.ts';
import { dateTime, dateTimeInput } from '../../core/shapes.ts';
import { tip, TIPS_MAX } from './schema.ts';

/** A training's evaluation as the host application saves it. */
export const saveInput = z.strictObject({
  ...teamInput,
  training_id: hostId,
  /** When the evaluation was made. Of two, the later one is kept. */
  saved_at: dateTimeInput,
  score: z.strictObject({
    dimensions: z.partialRecord(z.enum(DIMENSIONS), hostScore),
    total: hostScore.nullable(),
    spread: z.number().nullable(),
  }),
  tips: z.array(z.strictObject(tip.shape)).max(TIPS_MAX).default([]),
  goal: hostText,
  methodology: hostId.nullable().optional(),
  strongest: hostText,
  biggest_lever: hostText,
});

/** `saved_at` is that of the stored evaluation, which may be another one that was made later. */
export const saveOutput = z.object({ training_id: z.string(), saved_at: dateTime });
