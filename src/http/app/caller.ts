import type { Actor } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Privacy } from '../../core/privacy.ts';
import type { Queries } from '../../db/client.ts';
import type { TeamFacts } from '../../trpc/context.ts';
import type { RateLimits, RateState } from '../api/authentication/rate-limits.ts';
import { teamFactsOf } from '../api/authentication/team-facts.ts';
import { authenticateCaller, type MemberRow } from './caller-store.ts';
import type { VerifiedToken } from './token.ts';

/** The caller of the tRPC API, with the current facts from the database. */
export interface Caller {
  readonly actor: Actor;
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False: the team is suspended or ended. */
  readonly enabled: boolean;
}

export interface CallerAuthentication {
  /**
   * null: nobody is signed in, the token is spent, or the person is not an active member of its
   * team.
   */
  readonly caller: Caller | null;
  /** null for a service of the host application, whose calls are not counted. */
  readonly rate: RateState | null;
  /** False: the limit is reached, and these calls were not counted. */
  readonly counted: boolean;
}

/**
 * Finds the caller and counts the calls of a request: for the person and the team, or for the
 * address if nobody is signed in. Services of the host application are trusted with their pace:
 * they report what happens in all teams.
 */
export async function findCaller(
  db: Queries,
  request: {
    /** null: without a valid token. */
    readonly token: VerifiedToken | null;
    readonly ip: string | null;
    readonly calls: number;
    readonly limits: RateLimits;
    readonly clock: Clock;
  },
): Promise<CallerAuthentication> {
  const { token, ip, calls, limits, clock } = request;
  const identity = token?.identity ?? null;
  if (identity?.kind === 'platform') {
    const actor = { kind: 'platform', id: identity.service } as const;
    const caller = { actor, team: null, privacy: null, enabled: true };
    return { caller, rate: null, counted: true };
  }
  const { personPerMinute, ipPerMinute } = limits;
  const row = await authenticateCaller(
    db,
    { person: identity, tokenId: token?.opens === 'app' ? token.id : null, ip },
    { calls, personPerMinute, ipPerMinute, now: clock.override() },
  );
  return {
    caller: identity && row.member_id !== null ? toCaller(identity.teamId, row) : null,
    rate: { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s },
    counted: row.counted,
  };
}

function toCaller(teamId: string, row: MemberRow): Caller {
  return {
    actor: { kind: 'user', id: row.member_id, role: row.role, rights: row.rights },
    ...teamFactsOf(teamId, row),
    enabled: row.team_status === 'active',
  };
}
