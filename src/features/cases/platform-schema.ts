import { z } from 'zod';
import { hostId, hostText, teamInput } from '../../core/platform-shapes.ts';
import { freeContainer, freeObject } from '../../core/shapes.ts';
import { trainingCase } from './schema.ts';

const content = {
  title: hostText,
  persona_id: hostText,
  fields: freeContainer.nullable().optional(),
  external_ref: freeObject.nullable().optional(),
};
const caseInput = { ...teamInput, case_id: hostId };

/** A case as the host application sees it. */
export const platformCase = trainingCase.extend({ private: z.boolean() });

export const createInput = z.strictObject({
  ...caseInput,
  user_id: hostId,
  ...content,
  /** Only its person sees a private case. The API never shows it. */
  private: z.boolean().default(false),
});
export const updateInput = z.strictObject({
  ...caseInput,
  ...content,
  private: z.boolean().optional(),
});
export const removeInput = z.strictObject(caseInput);
