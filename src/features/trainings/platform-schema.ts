import { z } from 'zod';
import { hostCount, hostId, hostState, teamInput } from '../../core/platform-shapes.ts';
import { dateTimeInput, freeObject } from '../../core/shapes.ts';

const hostIdOrNone = hostId.nullable().optional();

/** What a training is, which every call about it brings: whichever comes first makes it. Fields as in the API's Training. */
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

export const startInput = z.strictObject(description);
export const endInput = z.strictObject({
  ...description,
  finished_at: dateTimeInput,
  duration_s: hostCount.nullable().optional(),
});
export const abortInput = z.strictObject(description);
