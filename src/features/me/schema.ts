import { z } from 'zod';
import { API_PLANS } from '../../core/plans.ts';
import { MODES } from '../../core/sandbox.ts';
import { TEST_SCOPES } from '../../core/scopes.ts';
import { knownText } from '../../core/shapes.ts';

/** The team, the scopes and the limits of a key. */
export const meOutput = z
  .object({
    tenant_id: z.string().meta({ description: 'The team that the key belongs to.' }),
    kind: knownText(API_PLANS).nullable().meta({ description: 'The plan of the team.' }),
    mode: knownText(MODES).meta({ description: '`test`: the key is of a sandbox.' }),
    scopes: z.array(knownText(TEST_SCOPES)).meta({ description: 'What the key may do.' }),
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
