import { z } from 'zod';
import { hostCount, hostId, hostState, teamInput } from '../../core/platform-shapes.ts';
import { dateTimeInput, freeObject } from '../../core/shapes.ts';

const hostIdOrNone = hostId.nullable().optional();

/**
 * The description of a training. Every call brings it, because any of them may be the first. The
 * fields are those of the API's Training.
 */
const description = {
  ...teamInput,
  training_id: hostId,
  user_id: hostId,
  /** When the session began. */
  created_at: dateTimeInput,
  source: hostState.default('app'),
  assignment_id: hostIdOrNone,
  external_ref: freeObject.nullable().optional(),
  situation_id: hostIdOrNone,
  personality_id: hostIdOrNone,
  industry_id: hostIdOrNone,
  role_id: hostIdOrNone,
};

/** Inputs of the three steps. */
export const startInput = z.strictObject(description);
export const endInput = z.strictObject({
  ...description,
  finished_at: dateTimeInput,
  duration_s: hostCount.nullable().optional(),
});
export const abortInput = z.strictObject(description);
