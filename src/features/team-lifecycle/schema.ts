import { z } from 'zod';
import { PLANS } from '../../core/plans.ts';
import { LANGUAGES } from '../../core/language.ts';
import { hostCount, hostEmail, hostId, teamInput } from '../../core/platform-shapes.ts';

const STATUSES = ['active', 'suspended', 'ended'] as const;
const NAME_MAX_CHARACTERS = 200;

const facts = {
  name: z.string().min(1).max(NAME_MAX_CHARACTERS),
  plan: z.enum(PLANS),
  seats: hostCount,
  language: z.enum(LANGUAGES),
  rate_limit_per_min: hostCount.min(1),
};

/** What is left out is the table's default: 25 seats, 600 requests a minute, German, plan `team`. */
export const createInput = z.strictObject({
  ...teamInput,
  ...facts,
  plan: facts.plan.default('team'),
  seats: facts.seats.default(25),
  language: facts.language.default('de'),
  rate_limit_per_min: facts.rate_limit_per_min.default(600),
  owner: z.strictObject({
    /** Ours where the host application has none. */
    member_id: hostId.optional(),
    user_id: hostId,
    email: hostEmail,
  }),
});
export const createOutput = z.object({ team_id: z.string(), owner_member_id: z.string() });

export const updateInput = z.strictObject({
  ...teamInput,
  ...z.object(facts).partial().shape,
  status: z.enum(STATUSES).optional(),
});

export const team = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(PLANS),
  status: z.enum(STATUSES),
  seats: z.int(),
  language: z.enum(LANGUAGES),
  rate_limit_per_min: z.int(),
});
