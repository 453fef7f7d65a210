import { z } from 'zod';
import { listOf } from '../../core/shapes.ts';
import { KINDS } from './rules.ts';

const kind = z.enum(KINDS);

export const nothing = z.object({});

export const alerts = z.object({
  kinds: z.array(kind).meta({ description: 'Which alerts the caller gets by mail; empty: none.' }),
});

export const setInput = z.strictObject({
  kinds: listOf(kind, { max: KINDS.length }).meta({
    description: 'Which alerts the caller wants by mail; empty: none.',
  }),
});
