import { z } from 'zod';
import { dateInput, dateOnly, id } from '../../core/shapes.ts';

const day = dateOnly.meta({ description: 'UTC.' });
const requests = z
  .object({ '2xx': z.int(), '4xx': z.int(), '429': z.int(), '5xx': z.int() })
  .meta({ description: 'Requests by the status of their response; `4xx` is without 429.' });

const peak_percent = z.int().meta({
  description:
    'How much of the requests that a minute allows were used at the peak of the day, in percent: ' +
    "of the key's or of the team's limit, whichever was nearer.",
});

/** The requests of all keys, or of one, by day. */
export const dailyUsage = z.object({
  data: z
    .array(z.object({ day, requests, peak_percent }))
    .meta({ description: 'The first day first. Days without requests are left out.' }),
});

/** What the team may use. */
export const usageLimits = z.object({
  plan: z.string(),
  team_per_minute: z.int().meta({ description: 'Requests of all keys together.' }),
  key_per_minute: z.int().meta({ description: 'Requests of one key.' }),
});
export const limitsInput = z.strictObject({});

export const dailyInput = z.strictObject({
  key_id: id.optional(),
  since: dateInput.optional().meta({ description: 'The first day.' }),
  until: dateInput.optional().meta({ description: 'The last day.' }),
});
