/**
 * The context of a call: who calls, for which team, and the services of the process. Both APIs
 * build it, and every procedure gets it as `ctx`.
 */
import { callerIdOf, type Actor, type PlatformActor } from '../core/actor.ts';
import type { Clock } from '../core/clock.ts';
import type { Lookup } from '../core/dns-lookup.ts';
import type { AppSecrets } from '../core/encryption.ts';
import type { Language } from '../core/language.ts';
import type { CallPrivacy, Privacy } from '../core/privacy.ts';
import type { Db } from '../db/client.ts';
import type { ChangeContext } from '../db/outbox.ts';
import type { PlatformChangeContext } from '../db/change-context.ts';
import { runCall, type Once, type OperationCall } from './call.ts';
import type { ProblemCauses } from './operation.ts';

/** The current facts about the team of a request. */
export interface TeamFacts {
  readonly id: string;
  readonly plan: string;
  readonly language: Language;
  readonly rateLimitPerMinute: number;
}

/** Services of the process that every request uses. */
export interface Services {
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  readonly webhookAllowPrivateTargets: boolean;
  /** How many requests a key may make in a minute. */
  readonly keyPerMinute: number;
  /** Resolves host names. The system's resolver by default. */
  readonly lookup?: Lookup;
}

/** The body of an error in both APIs. */
export interface ProblemShape {
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly [field: string]: unknown;
}

/** The context of an operation or procedure of a team, after its access is checked. */
export interface Context {
  readonly requestId: string;
  readonly actor: Actor;
  readonly team: TeamFacts;
  readonly privacy: CallPrivacy;
  /** The language of labels and titles in the response. */
  readonly language: Language;
  readonly db: Db;
  readonly services: Services;
  /** null: the call has no `Idempotency-Key`, or the REST API sees to it itself. */
  readonly once: Once | null;
  /**
   * Describes an error as a problem: for `data` of a tRPC error, and for an entry of a batch.
   * `causes`: what codes mean here, for the REST API.
   */
  readonly describeError: (error: unknown, causes?: ProblemCauses) => ProblemShape;
}

/** The context of a tRPC call before the procedure's access is checked. */
export interface CallerContext extends Omit<Context, 'actor' | 'team' | 'privacy' | 'db'> {
  /** The database for work that counts as this team's. null: as nobody's in particular. */
  readonly dbFor: (teamId: string | null) => Db;
  /** null: nobody is signed in. Then no procedure is called, but tRPC still describes the error. */
  readonly actor: Actor | null;
  /** null for a service of the host application, which names the team in its input. */
  readonly team: TeamFacts | null;
  readonly privacy: Privacy | null;
  /** False if the team is suspended or ended. */
  readonly enabled: boolean;
}

/** The context of a procedure for services of the host application. */
export interface PlatformContext extends Omit<CallerContext, 'actor'> {
  readonly actor: PlatformActor;
  readonly db: Db;
}

/**
 * The change context of a request, for the audit log and the outbox. Its actor and privacy switches
 * are those of authentication. A transaction that waits for a lock reads them again afterwards
 * (`lockTeamFor`, `readChangeContext`).
 */
export function changeContextOf(ctx: Context): ChangeContext {
  return {
    teamId: ctx.team.id,
    actor: ctx.actor,
    privacy: ctx.privacy,
    requestId: ctx.requestId,
    at: ctx.services.clock.now(),
  };
}

/**
 * The change context of a call by the host application. The operation adds the team's privacy
 * switches in its transaction (`readChangeContext`).
 */
export function platformChangeContextOf(
  ctx: PlatformContext,
  teamId: string,
): PlatformChangeContext {
  return { teamId, actor: ctx.actor, requestId: ctx.requestId, at: ctx.services.clock.now() };
}

/** Runs a call, or repeats its output if it has an `Idempotency-Key` that is known already. */
export function runRepeatable(
  { once, db, team, actor, privacy }: Context,
  what: { readonly name: string; readonly input: unknown },
  call: OperationCall,
): Promise<unknown> {
  if (once === null) return runCall(call, db);
  return once({ db, teamId: team.id, actorId: callerIdOf(actor), privacy, ...what }, call);
}
