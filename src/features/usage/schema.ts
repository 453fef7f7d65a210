import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { dateInput, dateOnly, id } from '../../core/shapes.ts';

const day = dateOnly.meta({ description: 'UTC.' });
const requests = z
  .object({ '2xx': z.int(), '4xx': z.int(), '429': z.int(), '5xx': z.int() })
  .meta({ description: 'Requests by the status of their response; `4xx` is without 429.' });

/** The requests of one key on one day. */
export const keyUsage = z.object({ day, key_id: z.string(), key_name: z.string(), requests });

export const usagePage = pageOf(keyUsage);

export const listInput = z.strictObject({
  ...pageQuery,
  key_id: id.optional(),
  since: dateInput.optional().meta({ description: 'The first day.' }),
  until: dateInput.optional().meta({ description: 'The last day.' }),
});

/** The requests of all keys, or of one, by day. */
export const dailyUsage = z.object({
  data: z
    .array(z.object({ day, requests }))
    .meta({ description: 'The first day first. Days without requests are left out.' }),
});

export const dailyInput = listInput.omit({ cursor: true, limit: true });
