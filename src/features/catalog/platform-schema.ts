import { z } from 'zod';
import { hostId, hostText, teamInput } from '../../core/platform-shapes.ts';
import { listOf } from '../../core/shapes.ts';
import { catalog } from './schema.ts';

const AT_ONCE_MAX = 1000;

const entries = listOf(
  z.strictObject({
    kind: catalog.keyof(),
    id: hostId,
    name: z.strictObject({ de: hostText, en: hostText }).default({}),
    icon: hostText,
  }),
  { max: AT_ONCE_MAX },
);

const dimension = hostId.nullable().default(null);

const rules = listOf(
  z
    .strictObject({ situation_id: dimension, personality_id: dimension, industry_id: dimension })
    .refine((rule) => Object.values(rule).filter((each) => each !== null).length >= 2, {
      error: 'Name two or three of situation_id, personality_id, industry_id.',
    }),
  { max: AT_ONCE_MAX },
);

export const saveEntriesInput = z.strictObject({ entries });
export const saveTeamEntriesInput = z.strictObject({ ...teamInput, entries });
export const saveRulesInput = z.strictObject({ rules });
