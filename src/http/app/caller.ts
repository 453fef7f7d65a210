import type { Actor } from '../../core/actor.ts';
import { privacyOf, type Privacy } from '../../core/privacy.ts';
import type { Db } from '../../db/client.ts';
import type { TeamFacts } from '../../trpc/context.ts';
import { findActiveMember } from './caller-store.ts';
import type { Identity } from './token.ts';

/** The caller of the tRPC API, with the current facts from the database. */
export interface Caller {
  readonly actor: Actor;
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False: the team is suspended or ended. */
  readonly enabled: boolean;
}

/** Returns null if the person is not an active member of the token's team. */
export async function findCaller(db: Db, identity: Identity): Promise<Caller | null> {
  if (identity.kind === 'platform') {
    return {
      actor: { kind: 'platform', id: identity.service },
      team: null,
      privacy: null,
      enabled: true,
    };
  }
  const row = await findActiveMember(db, identity.teamId, identity.userId);
  if (!row) return null;
  return {
    actor: { kind: 'user', id: row.member_id, role: row.role, rights: row.rights },
    team: {
      id: identity.teamId,
      plan: row.plan,
      language: row.language,
      rateLimitPerMinute: row.rate_limit_per_min,
    },
    privacy: privacyOf({
      memberDetailEnabled: row.member_detail_enabled,
      leaderboardEnabled: row.leaderboard_enabled,
    }),
    enabled: row.status === 'active',
  };
}
