import { z } from 'zod';
import { SCOPES } from '../../core/scopes.ts';
import { API_PLANS } from '../../core/plans.ts';
import { knownText } from '../../core/shapes.ts';

/** The team, the scopes and the limits of a key. */
export const meOutput = z
  .object({
    tenant_id: z.string().meta({ description: 'The team that the key belongs to.' }),
    kind: knownText(API_PLANS).nullable().meta({ description: 'The plan of the team.' }),
    scopes: z.array(knownText(SCOPES)).meta({ description: 'What the key may do.' }),
    rate_limit_per_min: z
      .int()
      .nullable()
      .meta({ description: "The tenant's limit: requests per minute over all its keys." }),
    privacy: z
      .object({
        member_detail_enabled: z
          .boolean()
          .meta({ description: 'If false, emails, scores and per-person data are withheld.' }),
      })
      .meta({ description: 'The privacy switches of the team.' }),
  })
  .meta({ description: 'The key, and the team that it belongs to.' });
