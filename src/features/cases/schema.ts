import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { personal, restricted } from '../../core/private-fields.ts';
import { dateTime, freeContainer, freeObject, id } from '../../core/shapes.ts';

const TEXT_MAX_CHARACTERS = 10_000;

const person = z.string().meta({ description: 'The person whose case it is.' });

export const trainingCase = z
  .object({
    id: z.string().meta({ description: 'Id of the case.' }),
    user_id: restricted(person),
    title: z
      .string()
      .nullable()
      .meta({ description: 'What the case is called; null without a title.' }),
    persona_id: z
      .string()
      .nullable()
      .meta({ description: 'The counterpart to practise with; null without one.' }),
    fields: freeContainer.nullable().meta({ description: 'Free-form JSON, as it was stored.' }),
    external_ref: freeObject.nullable().meta({
      description: "Free-form JSON, as it was stored: for instance ids in the client's own system.",
    }),
    created_at: dateTime.nullable().meta({ description: 'When it was created.' }),
  })
  .meta({ description: 'A case that the team shares.' });

/** What a change shows. Its request names a case, not whose it is. */
export const changedCase = trainingCase
  .extend({ user_id: personal(person) })
  .meta({ description: 'A case that the team shares, after a change of it.' });

export const caseExample = {
  id: 'cas_01jc4f7b',
  user_id: 'usr_01jc4f40',
  title: 'Renewal with a new buyer',
  persona_id: 'per_calm',
  fields: { budget: 12000, stage: 'renewal' },
  external_ref: { crm_id: '4711' },
  created_at: '2026-11-02T09:15:00.000Z',
};

export const casePage = pageOf(trainingCase);

const caseId = { case_id: id.meta({ description: 'Id of a case.', examples: ['cas_01jc4f7b'] }) };
const text = z.string().max(TEXT_MAX_CHARACTERS).nullable().optional();
const texts = {
  title: text.meta({
    description: 'What the case is called; null clears it.',
    examples: ['Renewal with a new buyer'],
  }),
  persona_id: text.meta({
    description: 'The counterpart to practise with; null clears it.',
    examples: ['per_calm'],
  }),
};
const limits = 'At most 64 KiB of JSON, returned as stored; null clears it.';
const externalRef = freeObject
  .nullable()
  .optional()
  .meta({
    description: `Free-form, for ids of the client's own. ${limits}`,
    examples: [{ crm_id: '4711' }],
  });

export const listInput = z.object({
  ...pageQuery,
  user_id: id.optional().meta({
    description: 'Only cases of this person; an unknown one gives an empty page.',
  }),
});
export const getInput = z.object(caseId);
export const createInput = z.strictObject({
  user_id: id.meta({ description: 'The person of an active member.', examples: ['usr_01jc4f40'] }),
  ...texts,
  fields: freeObject
    .nullable()
    .optional()
    .meta({ description: `Free-form. ${limits}`, examples: [{ budget: 12000, stage: 'renewal' }] }),
  external_ref: externalRef,
});
export const updateInput = z.strictObject({
  ...caseId,
  ...texts,
  fields: freeContainer
    .nullable()
    .optional()
    .meta({
      description: `Free-form, replaced as a whole. ${limits}`,
      examples: [{ budget: 12000, stage: 'renewal' }],
    }),
  external_ref: externalRef,
});
export const removeInput = z.strictObject(caseId);
