import { z } from 'zod';
import { pageOf, pageQuery } from '../../core/page.ts';
import { teamInput } from '../../core/platform-shapes.ts';
import { restricted } from '../../core/private-fields.ts';
import { dateTime, knownText } from '../../core/shapes.ts';
import { SCENARIOS } from '../../core/vocabularies.ts';

const scenario = z.enum(SCENARIOS).meta({
  description:
    '`typical`: a team of twelve with 60 trainings in twelve weeks. `large`: 10,000 trainings. ' +
    '`empty`: only an owner and a catalog.',
});

/** A sandbox as its team sees it. */
export const sandbox = z
  .object({
    tenant_id: z.string().meta({ description: 'The id of the sandbox as a team.' }),
    scenario: knownText(SCENARIOS).meta({ description: 'What the last reset filled it with.' }),
    created_at: dateTime.meta({ description: 'When it was created.' }),
    reset_at: dateTime.meta({ description: 'When its scenario was brought back last.' }),
    speed: z.int().meta({
      description: 'The retry schedule of its webhook endpoints runs so many times as fast.',
    }),
    suspended_until: dateTime
      .nullable()
      .meta({ description: 'Until then its team is suspended, because that is being played.' }),
    receivers_fail_until: dateTime.nullable().meta({
      description: 'Until then its webhook endpoints fail, because that is being played.',
    }),
  })
  .meta({ description: 'A team to rehearse on.' });

/** A mail that a live team would have sent. */
export const sandboxMail = z
  .object({
    id: z.string().meta({ description: 'Id of the mail.' }),
    to: restricted(z.string().meta({ description: 'Who would have got it.' })),
    subject: restricted(z.string().meta({ description: 'Its subject.' })),
    body: restricted(z.string().meta({ description: 'Its text.' })),
    created_at: dateTime.meta({ description: 'When it would have been sent.' }),
  })
  .meta({ description: 'A mail that a live team would have sent.' });

export const mailPage = pageOf(sandboxMail);
export const mailsInput = z.object(pageQuery);

export { RESET_LIMIT } from './rules.ts';

export const nothing = z.object({});
export const removeInput = z.strictObject({});
/** Left out: the scenario that it has. */
export const resetInput = z.strictObject({ scenario: scenario.optional() });
export const createInput = z.strictObject({ scenario: scenario.default('typical') });

export const platformRemoveInput = z.strictObject(teamInput);

export const platformCreateInput = z.strictObject({
  ...teamInput,
  scenario: scenario.default('typical'),
});

/** `sandbox`: null if there is none. */
export const maybeSandbox = z.object({ sandbox: sandbox.nullable() });
