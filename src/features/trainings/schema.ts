import { z } from 'zod';
import { evaluation, include } from '../../core/evaluation-shapes.ts';
import { pageOf, pageQuery } from '../../core/page.ts';
import { restricted } from '../../core/private-fields.ts';
import {
  catalogId,
  dateTime,
  dateTimeInput,
  freeObject,
  id,
  knownText,
  nameInput,
} from '../../core/shapes.ts';
import { TRAINING_SOURCES, TRAINING_STATUSES } from '../../core/vocabularies.ts';

/** A training as the API shows it. */
export const training = z
  .object({
    id: z.string().meta({ description: 'Id of the training.' }),
    user_id: restricted(z.string().meta({ description: 'The person who trained.' })),
    status: knownText(TRAINING_STATUSES).meta({
      description: 'Once there is an evaluation: `scored`.',
    }),
    source: knownText(TRAINING_SOURCES).meta({ description: 'Where it was held.' }),
    assignment_id: z
      .string()
      .nullable()
      .meta({ description: 'The assignment that it was made for.' }),
    created_at: dateTime.nullable().meta({ description: 'When it began.' }),
    finished_at: dateTime.nullable().meta({ description: 'When it ended; null while it runs.' }),
    duration_s: z.int().nullable().meta({ description: 'Seconds.' }),
    external_ref: freeObject
      .nullable()
      .meta({ description: 'Data of another system, returned as it was stored.' }),
    situation_id: catalogId,
    personality_id: catalogId,
    industry_id: catalogId,
    role_id: catalogId,
    evaluation: restricted(
      evaluation
        .nullable()
        .optional()
        .meta({
          description:
            'Its evaluation, or null while it is not scored. Only in a list that was asked for ' +
            'it by `include=evaluation`.',
        }),
    ),
  })
  .meta({ description: 'A training session, without its transcript.' });

export const trainingPage = pageOf(training);

export const listInput = z.object({
  ...pageQuery,
  user_id: id.optional().meta({ description: 'Only trainings of this person.' }),
  status: knownText(TRAINING_STATUSES, nameInput.min(1))
    .optional()
    .meta({ description: 'Only trainings with this status.', examples: ['scored'] }),
  since: dateTimeInput.optional().meta({
    description:
      'Only trainings that began at or after this moment, whenever they were reported; ' +
      'a date-time with an offset. Encode the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  until: dateTimeInput.optional().meta({
    description: 'Only trainings that began before this moment; a date-time with an offset.',
    examples: ['2026-12-01T00:00:00Z'],
  }),
  assignment_id: id.optional().meta({ description: 'Only trainings made for this assignment.' }),
  include,
});

export const getInput = z.object({
  training_id: id.meta({ description: 'Id of a training.', examples: ['trn_01jc4f6b'] }),
});

/** The example for every operation that returns trainings. */
export const trainingExample = {
  id: 'trn_01jc4f6b',
  user_id: 'usr_01jc4f40',
  status: 'scored',
  source: 'app',
  assignment_id: 'asg_01jc4f5a',
  created_at: '2026-11-03T08:30:00.000Z',
  finished_at: '2026-11-03T08:42:10.000Z',
  duration_s: 730,
  external_ref: { lms: 4711 },
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
  role_id: 'rol_buyer',
};
