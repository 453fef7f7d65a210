/** The shape of an evaluation, which is read by itself and as a part of its training. */
import { z } from 'zod';
import { restricted } from './private-fields.ts';
import type { Scope } from './scopes.ts';
import { catalogId, knownText, nameInput } from './shapes.ts';
import { GOALS } from './vocabularies.ts';

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

/** One tip of an evaluation. */
export const tip = z
  .object({
    issue: z.string().meta({ description: 'What to work on.' }),
    moment: z.string().meta({ description: 'Where in the conversation it happened.' }),
    principle: z.string().meta({ description: 'The rule behind it.' }),
    rewrite: z.string().meta({ description: 'What could be said instead.' }),
    impact: z.string().meta({ description: 'What that would change.' }),
  })
  .meta({ description: 'Something to do better.' });

/** An evaluation as the API shows it. */
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
      knownText(GOALS).nullable().meta({ description: 'How far the goal was reached.' }),
    ),
    methodology: catalogId.meta({ description: 'Id of the methodology in the catalog.' }),
    strongest: restricted(z.string().nullable().meta({ description: 'What went best.' })),
    biggest_lever: restricted(z.string().nullable().meta({ description: 'What would help most.' })),
  })
  .meta({ description: 'The result of a scored training.' });

/** The scope that reads alone what `include` adds to a list of trainings. */
export const INCLUDED = { evaluation: 'evaluations:read' } as const satisfies Record<string, Scope>;

const included = nameInput.refine((name) => Object.hasOwn(INCLUDED, name), {
  error: `Expected one of: ${Object.keys(INCLUDED).join(', ')}.`,
});

/** The parameter by which a list of trainings holds their evaluations, too. */
export const include = knownText(Object.keys(INCLUDED), included)
  .optional()
  .meta({
    description:
      '`evaluation`: each training comes with its evaluation, as ' +
      '`GET /trainings/{training_id}/evaluation` shows it; null while it is not scored. ' +
      'Such a page ends after about 256 KB, too, so it can hold fewer entries. ' +
      'Any other value is refused.',
    examples: ['evaluation'],
  });
