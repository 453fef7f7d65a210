import { z } from 'zod';
import { DIMENSIONS } from '../../core/dimensions.ts';
import { personalParts } from '../../core/private-fields.ts';
import { knownText } from '../../core/shapes.ts';

const person = z.object({
  sessions: z.int().meta({ description: 'Ended trainings.' }),
  avg_score: z
    .number()
    .nullable()
    .meta({ description: 'Mean total, to one decimal; null without a score.' }),
  trend_delta: z
    .number()
    .nullable()
    .meta({
      description:
        'Mean of the last 30 days (UTC, today included) minus that of the 30 days ' +
        'before; null if either has no score.',
    }),
});

export const teamAnalytics = z
  .object({
    totals: z
      .object({
        active_members: z.int().nullable().meta({ description: 'The owner included.' }),
        scored: z.int().nullable().meta({ description: 'Trainings with an evaluation.' }),
        sessions: z.int().nullable().meta({ description: 'Ended trainings.' }),
        avg_score: z
          .number()
          .nullable()
          .meta({ description: 'Mean total, to one decimal; null without a score.' }),
      })
      .meta({ description: 'Over all active members.' }),
    dimensions: z
      .array(
        z.object({
          dimension: knownText(DIMENSIONS).nullable().meta({ description: 'What is scored.' }),
          value: z.number().nullable().meta({ description: 'Mean, to one decimal.' }),
        }),
      )
      .default([])
      .meta({ description: 'In alphabetical order.' }),
    skill_gaps: z
      .array(knownText(DIMENSIONS))
      .default([])
      .meta({ description: 'Dimensions whose mean is below 60, the lowest first.' }),
    trend: z
      .array(
        z.object({
          score: z
            .int()
            .nullable()
            .meta({ description: 'Mean total; null for a week without a score.' }),
        }),
      )
      .default([])
      .meta({
        description: 'The last 12 ISO weeks (UTC), the oldest first, the current one last.',
      }),
    members: personalParts(
      z
        .array(person)
        .default([])
        .meta({
          description:
            'One entry for each active member with an ended training, the best first, without ' +
            'names or ids. Empty unless `member_detail_enabled` and `leaderboard_enabled` are on ' +
            'and at least 5 active members are involved.',
        }),
      () => [],
    ),
  })
  .meta({ description: 'Aggregated figures of the team.' });

export const teamInput = z.object({});

const ranked = person.extend({ place: z.int() });

/** What the admin page draws. Its size does not depend on how many members the team has. */
export const teamResults = teamAnalytics.omit({ members: true }).extend({
  /** null: not shown, by the rule of `members` in the analytics. */
  people: personalParts(
    z
      .object({
        /** How many members have which mean, in steps of ten points. */
        spread: z.array(z.int()),
        best: z.array(ranked),
        /** Empty if all are among the best. */
        last: z.array(ranked),
      })
      .nullable(),
    () => null,
  ),
});
