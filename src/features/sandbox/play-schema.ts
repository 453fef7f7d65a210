import { z } from 'zod';
import { hostId } from '../../core/platform-shapes.ts';
import { dateTime, dateTimeInput, knownText } from '../../core/shapes.ts';
import { CRM_REASONS, DAYS_BACK, DEFAULTS, PLAY_NAMES, PLAYS, SPEED_MAX } from './play-rules.ts';

/** What each play does and takes, in Markdown. */
export const PLAYS_TABLE = [
  '| play | fields | what happens |',
  '| --- | --- | --- |',
  ...PLAY_NAMES.map((play) => {
    const { takes, does } = PLAYS[play];
    return `| \`${play}\` | ${takes.map((field) => `\`${field}\``).join(', ')} | ${does} |`;
  }),
].join('\n');

const optionalId = (description: string) => hostId.optional().meta({ description });

/** Which fields a play takes, the rules say. */
export const simulateInput = z.strictObject({
  play: z.enum(PLAY_NAMES).meta({ description: 'What happens.' }),
  member_id: optionalId('Who trains, who leaves, or whose invitation is accepted.'),
  user_id: optionalId(
    'The same by the person. Of an invitation: who accepts it; by default who had its address.',
  ),
  training_id: optionalId('The training whose evaluation is saved or corrected.'),
  assignment_id: optionalId('The assignment that the training is for.'),
  situation_id: optionalId('The situation that is trained.'),
  connection_id: optionalId('The CRM connection that fails.'),
  score: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .meta({
      description:
        `The total score; ${DEFAULTS.score} by default, of a correction five more than before, ` +
        'or five less where that would be over 100.',
    }),
  duration_s: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .meta({ description: `How long the training took; ${DEFAULTS.durationS} by default.` }),
  delay_s: z
    .int()
    .min(0)
    .max(3_600)
    .optional()
    .meta({
      description:
        `How long after the training its evaluation is saved; ${DEFAULTS.delayS} divided by ` +
        '`speed` by default. 0: in this call.',
    }),
  for_s: z
    .int()
    .min(0)
    .max(3_600)
    .optional()
    .meta({
      description:
        `How long it lasts. ${DEFAULTS.suspendedS} by default for \`team_suspended\`, ` +
        `${DEFAULTS.failingS} for \`webhooks_failing\`. 0 ends it, ` +
        'of `team_suspended` only in the app.',
    }),
  remaining: z
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .meta({
      description: `How many requests are left in this minute; ${DEFAULTS.remaining} by default.`,
    }),
  reason: z
    .enum(CRM_REASONS)
    .optional()
    .meta({ description: `Why the CRM fails; \`${DEFAULTS.crmReason}\` by default.` }),
  at: dateTimeInput.optional().meta({
    description:
      `When the training ended or the evaluation was made, within the last ${DAYS_BACK} days. ` +
      'Now by default, and if it is up to a minute ahead. Events are of now nevertheless.',
  }),
});

/** What has been played. */
export const simulation = z
  .object({
    play: knownText(PLAY_NAMES).meta({ description: 'What happens.' }),
    training_id: z
      .string()
      .nullable()
      .meta({ description: 'The training that was made or scored; null: none.' }),
    member_id: z
      .string()
      .nullable()
      .meta({ description: 'The member who trained, joined or left; null: none.' }),
    connection_id: z
      .string()
      .nullable()
      .meta({ description: 'The CRM connection that failed; null: none.' }),
    events: z
      .array(z.string())
      .meta({ description: 'The types of the events that it raises, in their order.' }),
    evaluation_at: dateTime.nullable().meta({
      description: 'When the evaluation of the training is saved; null: it is not played.',
    }),
    until: dateTime.nullable().meta({
      description: 'When it ends by itself; null: it does not last, or has been ended.',
    }),
  })
  .meta({ description: 'What has been played in a sandbox.' });

/** What can be set of a sandbox. */
export const updateInput = z.strictObject({
  speed: z.int().min(1).max(SPEED_MAX).meta({
    description: 'The retry schedule of its webhook endpoints runs so many times as fast.',
  }),
});
