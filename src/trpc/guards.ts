/** The checks that run before an operation or procedure does its work. */
import { requireAccess, type Access } from '../core/access.ts';
import type { Actor } from '../core/actor.ts';
import { findJsonFault } from '../core/json.ts';
import { insufficientScope, invalidInput, ProblemError } from '../core/problem.ts';
import { privacyOfCall } from '../core/privacy.ts';
import { isSandbox } from '../core/sandbox.ts';
import type { Scope } from '../core/scopes.ts';
import type { CallerContext, Context } from './context.ts';

/**
 * Returns the context of a member of a team. Throws `unauthorized` if nobody is signed in,
 * `forbidden` without the access, `api_disabled` if the team is suspended or ended. A change checks
 * the access again under its locks (`db/change-context.ts`).
 */
export function requireTeam(ctx: CallerContext, access: Access): Context {
  const { team, privacy } = ctx;
  const actor = requireActor(ctx);
  requireAccess(actor, access);
  if (!team || !privacy) throw new ProblemError('forbidden');
  if (!ctx.enabled) throw new ProblemError('api_disabled');
  const admitted = actor.kind === 'user' ? { ...actor, access } : actor;
  const db = ctx.dbFor(team.id);
  return { ...ctx, actor: admitted, team, privacy: privacyOfCall(privacy), db };
}

/** Returns the actor. Throws `unauthorized` if nobody is signed in. */
export function requireActor({ actor }: CallerContext): Actor {
  if (actor) return actor;
  throw new ProblemError('unauthorized');
}

/** Throws `not_found` for an operation of sandboxes in a live team. null: one of every team. */
export function requireMode(teamId: string, mode: 'test' | null): void {
  if (mode === null || isSandbox(teamId)) return;
  throw new ProblemError('not_found', {
    detail: 'Only a sandbox has this. Call it with a test key (svck_test_…).',
  });
}

/**
 * Throws `insufficient_scope` if a key lacks the scope. null: any key may call. The rights of users
 * and services depend on `Access` instead.
 */
export function requireScope(actor: Actor, scope: Scope | null): void {
  if (scope === null || actor.kind !== 'api_key' || actor.scopes.includes(scope)) return;
  throw insufficientScope(scope);
}

/**
 * Throws a `ZodError` for input that the service cannot store, such as text that Postgres or UTF-8
 * cannot represent, and JSON that is nested too deeply.
 */
export function refuseUnstorableJson(input: unknown): void {
  const fault = findJsonFault(input);
  if (fault) throw invalidInput(fault.path, fault.message, fault.code);
}
