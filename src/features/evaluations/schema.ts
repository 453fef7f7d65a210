import { z } from 'zod';
import { pageQuery } from '../../core/page.ts';
import { restricted } from '../../core/private-fields.ts';
import { catalogId, dateTimeInput, id, knownText } from '../../core/shapes.ts';

/** The most tips that an evaluation may have. */
export const TIPS_MAX = 5;

const score = z
  .object({
    dimensions: z.record(z.string(), z.int()).meta({
      description:
        'A number for each dimension that was scored: `closing`, `conversation_control`, ' +
        '`needs_analysis`, `objection_handling`, `value_argument`.',
    }),
    total: z.int().nullable().meta({ description: 'Total score; null without one.' }),
    spread: z.number().nullable().meta({ description: 'How far the dimensions lie apart.' }),
  })
  .meta({ description: 'The scores.' });

export const tip = z
  .object({
    issue: z.string().meta({ description: 'What to work on.' }),
    moment: z.string().meta({ description: 'Where in the conversation it happened.' }),
    principle: z.string().meta({ description: 'The rule behind it.' }),
    rewrite: z.string().meta({ description: 'What could be said instead.' }),
    impact: z.string().meta({ description: 'What that would change.' }),
  })
  .meta({ description: 'Something to do better.' });

export const evaluation = z
  .object({
    training_id: z.string().meta({ description: 'The training that was scored.' }),
    user_id: restricted(z.string().meta({ description: 'The person who trained.' })),
    score: restricted(score),
    tips: restricted(
      z
        .array(tip)
        .max(TIPS_MAX)
        .meta({ description: `Up to ${TIPS_MAX}, the most important first.` }),
    ),
    goal: restricted(
      knownText(['partial']).nullable().meta({ description: 'How far the goal was reached.' }),
    ),
    methodology: catalogId.meta({ description: 'Id of the methodology in the catalog.' }),
    strongest: restricted(z.string().nullable().meta({ description: 'What went best.' })),
    biggest_lever: restricted(z.string().nullable().meta({ description: 'What would help most.' })),
  })
  .meta({ description: 'The result of a scored training.' });

export const listInput = z.object({
  ...pageQuery,
  updated_since: dateTimeInput.optional().meta({
    description:
      'Only trainings whose evaluation was stored at or after this moment; ' +
      'a date-time with an offset. Encode the `+` of an offset as `%2B`.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
});

export const getInput = z.object({
  training_id: id.meta({ description: 'Id of a training.', examples: ['trn_01jc4f6b'] }),
});
