import type { ApiKeyActor } from '../../../core/actor.ts';
import { hasApi } from '../../../core/plans.ts';
import type { Privacy } from '../../../core/privacy.ts';
import type { Scope } from '../../../core/scopes.ts';
import type { TeamFacts } from '../../../trpc/context.ts';
import type { KeyRow } from './key-store.ts';
import { teamFactsOf } from './team-facts.ts';

/** The team of a valid key. */
export interface Tenant {
  readonly actor: ApiKeyActor;
  readonly team: TeamFacts;
  readonly privacy: Privacy;
  /** False: suspended, ended, or on a plan without the API. */
  readonly enabled: boolean;
}

/** Makes the tenant of a valid key. */
export function toTenant(row: KeyRow): Tenant {
  const { creator_id, creator_role, creator_status } = row;
  return {
    actor: {
      kind: 'api_key',
      id: row.key_id,
      scopes: (row.scopes === '' ? [] : row.scopes.split(' ')) as Scope[],
      creator: { id: creator_id, role: creator_role, status: creator_status },
    },
    ...teamFactsOf(row.team_id, row),
    enabled: row.team_status === 'active' && hasApi(row.plan),
  };
}
