import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { dateInput, dateOnly, id } from '../../core/shapes.ts';

/** The requests of one key on one day. */
export const keyUsage = z.object({
  day: dateOnly.meta({ description: 'UTC.' }),
  key_id: z.string(),
  key_name: z.string(),
  requests: z
    .object({ '2xx': z.int(), '4xx': z.int(), '429': z.int(), '5xx': z.int() })
    .meta({ description: 'Requests by the status of their response; `4xx` is without 429.' }),
});

export const usagePage = pageOf(keyUsage);

export const listInput = z.strictObject({
  ...pageQuery,
  key_id: id.optional(),
  since: dateInput.optional().meta({ description: 'The first day.' }),
  until: dateInput.optional().meta({ description: 'The last day.' }),
});
