import type { Actor, Role } from '../../core/actor.ts';
import type { Language } from '../../core/language.ts';
import { privacyOf, type Privacy } from '../../core/privacy.ts';
import { statement, type Db } from '../../db/client.ts';
import type { TeamFacts } from '../../trpc/context.ts';
import type { Identity } from './token.ts';

/** The caller of the tRPC API, with the current facts from the database. */
export interface Caller {
  readonly actor: Actor;
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False: the team is suspended or ended. */
  readonly enabled: boolean;
}

interface Row {
  readonly member_id: string;
  readonly role: Role;
  readonly rights: string[];
  readonly plan: string;
  readonly status: string;
  readonly language: Language;
  readonly rate_limit_per_min: number;
  readonly member_detail_enabled: boolean;
  readonly leaderboard_enabled: boolean;
}

const FIND = statement<Row>(
  'http.findCaller',
  `select m.id as member_id, m.role, m.rights, t.plan, t.status, t.language, t.rate_limit_per_min,
     t.member_detail_enabled, t.leaderboard_enabled
   from member m
   join team t on t.id = m.team_id
   where m.team_id = $1 and m.user_id = $2 and m.status = 'active'`,
);

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
  const [row] = await db.query(FIND, [identity.teamId, identity.userId]);
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
