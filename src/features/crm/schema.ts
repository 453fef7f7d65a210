import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { LANGUAGES } from '../../core/language.ts';
import { personal } from '../../core/private-fields.ts';
import { catalogId, dateTime, knownText } from '../../core/shapes.ts';
import { DEAL_OUTCOMES, OBJECTION_CATEGORIES } from '../../core/vocabularies.ts';

export const deal = z
  .object({
    id: z.string().meta({ description: 'Id of the deal.' }),
    external_id: z.string().meta({ description: 'The id in the CRM.' }),
    outcome: knownText(DEAL_OUTCOMES).meta({ description: 'How it stands.' }),
    title: z.string().nullable().meta({ description: 'What the CRM calls it.' }),
    amount: z
      .string()
      .nullable()
      .meta({ description: 'Decimal text, as the CRM gave it.', examples: ['12500.00'] }),
    currency: z
      .string()
      .nullable()
      .meta({ description: 'As the CRM gave it, for instance `EUR`.' }),
    close_date: z.string().nullable().meta({ description: 'As the CRM gave it.' }),
    probability: z.int().nullable().meta({ description: 'Per cent.' }),
    pipeline_id: z.string().nullable().meta({ description: 'Id in the CRM.' }),
    stage_id: z.string().nullable().meta({ description: 'Id in the CRM.' }),
    industry_id: catalogId,
    lost_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it was lost, as the CRM gave it.' }),
    owner_user_id: personal(
      z.string().nullable().meta({ description: 'The person who owns the deal.' }),
    ),
    last_activity_at: dateTime.nullable().meta({ description: 'In the CRM.' }),
    synced_at: dateTime.nullable().meta({ description: 'When it was last read from the CRM.' }),
  })
  .meta({ description: 'A deal of the CRM, read-only.' });

export const dealPage = pageOf(deal);

export const objection = z
  .object({
    id: z.string().meta({ description: 'Id of the objection.' }),
    deal_id: z.string().meta({ description: 'The deal in which it was raised.' }),
    category: knownText(OBJECTION_CATEGORIES).meta({ description: 'What it is about.' }),
    text: z.string().meta({ description: 'What was said.' }),
    lang: knownText(LANGUAGES).meta({ description: 'Language of the text.' }),
    created_at: dateTime.nullable().meta({ description: 'When it was first read from the CRM.' }),
  })
  .meta({ description: 'An objection that a customer raised.' });

export const objectionPage = pageOf(objection);

export const listInput = z.object(pageQuery);
