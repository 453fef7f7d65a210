import { z } from 'zod';
import { include } from '../../core/evaluation-shapes.ts';
import { pageQuery } from '../../core/page.ts';
import { dateTimeInput, id } from '../../core/shapes.ts';

export const listInput = z.object({
  ...pageQuery,
  updated_since: dateTimeInput.optional().meta({
    description:
      'Only trainings whose evaluation was stored at or after this moment; ' +
      'a date-time with an offset. Encode the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  include,
});

export const getInput = z.object({
  training_id: id.meta({ description: 'Id of a training.', examples: ['trn_01jc4f6b'] }),
});
