import { z } from 'zod';

const entry = z.object({
  id: z.string(),
  name: z.string().nullable().meta({
    description:
      'In the language of `Accept-Language`, or in the other one if it has no name in that.',
  }),
  icon: z.string().nullable(),
});

const entries = z.array(entry).default([]);

export const catalog = z.object({
  situation: entries,
  personality: entries,
  industry: entries,
  role: entries,
  methodology: entries,
});

export const getInput = z.object({});
