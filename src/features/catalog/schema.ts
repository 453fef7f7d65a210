import { z } from 'zod';

const entry = z
  .object({
    id: z.string().meta({ description: 'Id of the entry.' }),
    name: z.string().nullable().meta({
      description:
        'In the language of `Accept-Language`, or in the other one if it has no name in that.',
    }),
    icon: z.string().nullable().meta({ description: 'The name of its icon; null without one.' }),
  })
  .meta({ description: 'An entry of the catalog.' });

const entriesOf = (description: string) => z.array(entry).default([]).meta({ description });

export const catalog = z
  .object({
    situation: entriesOf('What a training can be about.'),
    personality: entriesOf('Who the counterpart can be.'),
    industry: entriesOf('Where it can take place.'),
    role: entriesOf('What the counterpart does.'),
    methodology: entriesOf('By which method it is scored.'),
  })
  .meta({ description: 'What the team may use, within its policy.' });

export const getInput = z.object({});
