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
  /** Tenants of one version are equal. */
  readonly version: string;
}

/** What a tenant is made of, in the order of a version. */
const FACTS = [
  'key_id',
  'team_id',
  'scopes',
  'creator_id',
  'creator_role',
  'creator_status',
  'plan',
  'team_status',
  'language',
  'rate_limit_per_min',
  'member_detail_enabled',
  'leaderboard_enabled',
] as const satisfies (keyof KeyRow)[];

/** Makes the tenant of a valid key. */
export function toTenant(row: KeyRow): Tenant {
  return makeTenant(row, JSON.stringify(FACTS.map((name) => row[name])));
}

/** Makes the tenant of a version. */
export function tenantOf(version: string): Tenant {
  const values = JSON.parse(version) as unknown[];
  const row = Object.fromEntries(FACTS.map((name, index) => [name, values[index]]));
  return makeTenant(row as unknown as KeyRow, version);
}

function makeTenant(row: KeyRow, version: string): Tenant {
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
    version,
  };
}
