import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { detail } from '../../core/privacy.ts';
import { catalogId, dateTime } from '../../core/shapes.ts';

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
  owner_user_id: detail(
    z.string().nullable().meta({ description: 'The person who owns the deal.' }),
  ),
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
