import type { Actor } from '../../core/actor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Privacy } from '../../core/privacy.ts';
import { ProblemError } from '../../core/problem.ts';
import { isSandbox, SANDBOX_OWNER, sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Queries } from '../../db/client.ts';
import type { TeamFacts } from '../../trpc/context.ts';
import type { RateLimits, RateState } from '../api/authentication/rate-limits.ts';
import { teamFactsOf } from '../api/authentication/team-facts.ts';
import {
  authenticateCaller,
  findSandboxFacts,
  type CallerRow,
  type MemberRow,
} from './caller-store.ts';
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
  const identity = identityOf(token);
  if (identity?.kind === 'platform') {
    const actor = { kind: 'platform', id: identity.service } as const;
    const caller = { actor, team: null, privacy: null, enabled: true };
    return { caller, rate: null, counted: true };
  }
  const { personPerMinute, ipPerMinute } = limits;
  const who = { person: identity, tokenId: token?.opens === 'app' ? token.id : null, ip };
  const now = clock.override();
  const count = (counted: number): Promise<CallerRow> =>
    authenticateCaller(db, who, { calls: counted, personPerMinute, ipPerMinute, now });
  let row = await count(calls);
  // A batch of more calls than the team may make in a minute would be refused for ever. So it takes
  // all of them.
  if (!row.counted && row.member_id !== null && row.rate_limit_per_min < calls)
    row = await count(row.rate_limit_per_min);
  return {
    caller: identity && row.member_id !== null ? toCaller(identity.teamId, row) : null,
    rate: { limit: row.bucket_limit, remaining: row.bucket_remaining, resetS: row.reset_s },
    counted: row.counted,
  };
}

/** Nobody signs in to a sandbox: its members are played. Its admins come from the live team. */
function identityOf(token: VerifiedToken | null): VerifiedToken['identity'] | null {
  const identity = token?.identity ?? null;
  return identity?.kind === 'user' && isSandbox(identity.teamId) ? null : identity;
}

/**
 * The caller in the sandbox of their team: its owner, with the role and the rights that the caller
 * has in the live team now. A suspension that is played there closes it only to keys, so that an
 * admin can end it. `db` is asked for the sandbox. Throws `not_found` if there is none.
 */
export async function enterSandbox(caller: Caller, db: (sandboxId: string) => Db): Promise<Caller> {
  const { actor, team, enabled } = caller;
  // A service of the host application has no team, and so no sandbox.
  if (actor.kind !== 'user' || !team) return caller;
  const sandboxId = sandboxIdOf(team.id);
  const row = await findSandboxFacts(db(sandboxId), sandboxId);
  if (!row) throw new ProblemError('not_found', { detail: 'The team has no sandbox.' });
  return {
    actor: { ...actor, id: SANDBOX_OWNER.memberId },
    ...teamFactsOf(sandboxId, row),
    enabled,
  };
}

function toCaller(teamId: string, row: MemberRow): Caller {
  const { member_id: memberId, role, rights } = row;
  return {
    actor: { kind: 'user', id: memberId, memberId, role, rights, access: null },
    ...teamFactsOf(teamId, row),
    enabled: row.team_status === 'active',
  };
}
