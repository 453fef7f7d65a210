import { z } from 'zod';
import { PLANS } from '../../core/plans.ts';
import { LANGUAGES } from '../../core/language.ts';
import { hostCount, hostId, teamInput } from '../../core/platform-shapes.ts';
import { newAddress } from '../../core/shapes.ts';
import { TEAM_STATUSES } from '../../core/vocabularies.ts';

const NAME_MAX_CHARACTERS = 200;
const IN_ONE_LINE = /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u;

const facts = {
  name: z
    .string()
    .min(1)
    .max(NAME_MAX_CHARACTERS)
    .regex(IN_ONE_LINE, { error: 'The name must have no line breaks or control characters.' }),
  plan: z.enum(PLANS),
  seats: hostCount,
  language: z.enum(LANGUAGES),
  rate_limit_per_min: hostCount.min(1),
};

/** The defaults are those of the table: 25 seats, 600 requests a minute, German, plan `team`. */
export const createInput = z.strictObject({
  ...teamInput,
  ...facts,
  plan: facts.plan.default('team'),
  seats: facts.seats.default(25),
  language: facts.language.default('de'),
  rate_limit_per_min: facts.rate_limit_per_min.default(600),
  owner: z.strictObject({
    /** If left out, this service makes an id. */
    member_id: hostId.optional(),
    user_id: hostId,
    email: newAddress,
  }),
});
/** The ids of a team and of its owner's membership. */
export const ownedTeam = z.object({ team_id: z.string(), owner_member_id: z.string() });

export const eraseInput = z.strictObject(teamInput);

export const transferOwnershipInput = z.strictObject({ ...teamInput, member_id: hostId });

/** The given fields are set, the others stay. */
export const updateInput = z.strictObject({
  ...teamInput,
  ...z.object(facts).partial().shape,
  status: z.enum(TEAM_STATUSES).optional(),
});

/** A team as the host application sees it. */
export const team = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(PLANS),
  status: z.enum(TEAM_STATUSES),
  seats: z.int(),
  language: z.enum(LANGUAGES),
  rate_limit_per_min: z.int(),
});
