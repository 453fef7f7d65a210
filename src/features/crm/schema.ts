import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { catalogId, dateTime, id } from '../../core/shapes.ts';

export const deal = z.object({
  id: z.string(),
  external_id: z.string().meta({ description: 'The id in the CRM.' }),
  outcome: z.string().meta({ description: 'For instance `open`. Further values may be added.' }),
  title: z.string().nullable(),
  amount: z
    .string()
    .nullable()
    .meta({ description: 'Decimal text, as the CRM gave it.', examples: ['12500.00'] }),
  currency: z.string().nullable(),
  close_date: z.string().nullable().meta({ description: 'As the CRM gave it.' }),
  probability: z.int().nullable().meta({ description: 'Per cent.' }),
  pipeline_id: z.string().nullable().meta({ description: 'Id in the CRM.' }),
  stage_id: z.string().nullable().meta({ description: 'Id in the CRM.' }),
  industry_id: catalogId,
  lost_reason: z.string().nullable(),
  owner_user_id: z.string().nullable().optional().meta({
    description: 'The person who owns the deal. Only while `member_detail_enabled` is on.',
  }),
  last_activity_at: dateTime.nullable().meta({ description: 'In the CRM.' }),
  synced_at: dateTime.nullable().meta({ description: 'When it was last read from the CRM.' }),
});

export const dealPage = pageOf(deal);

export const objection = z.object({
  id: z.string(),
  deal_id: z.string().meta({ description: 'The deal in which it was raised.' }),
  category: z.string().meta({ description: 'For instance `price`. Further values may be added.' }),
  text: z.string(),
  lang: z.string().meta({ description: 'Language of the text, for instance `de`.' }),
  created_at: dateTime.nullable(),
});

export const objectionPage = pageOf(objection);

export const listInput = z.object(pageQuery);

/** A CRM connection in the app, for admins. The token that was given for it never leaves again. */
export const connection = z.object({
  id: z.string(),
  provider: z.enum(['hubspot', 'pipedrive']),
  status: z.string().meta({ description: '`active` or `paused`.' }),
  objection_marker: z.string().nullable(),
  created_at: dateTime,
  last_synced_at: dateTime.nullable().meta({ description: 'When a round was last read to its end.' }),
  last_error: z.string().nullable().meta({ description: 'Why the last attempt failed; null after a success.' }),
  failure_streak: z.int().meta({ description: 'Failed attempts since the last success.' }),
  next_sync_at: dateTime.nullable().meta({ description: 'When it is read next; null while it is not.' }),
  syncing: z.boolean(),
});

export const connectionList = z.object({ data: z.array(connection) });

export const connectInput = z.strictObject({
  provider: z.enum(['hubspot', 'pipedrive']),
  credentials: z
    .string()
    .min(1)
    .max(4096)
    .regex(/^[!-~]+$/, { error: 'A token has neither spaces nor line breaks.' })
    .meta({ description: 'HubSpot: the access token of a private app. Pipedrive: a personal API token.' }),
  objection_marker: z
    .string()
    .trim()
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'Notes that begin with it become objections. Left out: notes are not read.' }),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'For development and tests only.' }),
});

export const connectionInput = z.strictObject({ connection_id: id });
