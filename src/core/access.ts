import type { Actor } from './actor.ts';
import { ProblemError } from './problem.ts';

/**
 * Who may call a procedure of the tRPC API. Every procedure declares its access. The authorization
 * tests derive their matrix from it.
 *  * `admins`: the owner, and active admins.
 *  * `schnittstellen`: the owner, and admins who were granted that right.
 *  * `owner`: the owner alone.
 *  * `platform`: services of the host application.
 */
export type Access = 'admins' | 'schnittstellen' | 'owner' | 'platform';

/** The team right that creating API keys requires. The owner has it and can grant it to admins. */
export const SCHNITTSTELLEN = 'schnittstellen';

/**
 * Whether the actor may call procedures with this access. An API key may not call any of them: it
 * uses the REST API, where scopes apply.
 */
export function mayAccess(actor: Actor, access: Access): boolean {
  if (actor.kind === 'platform') return access === 'platform';
  if (actor.kind !== 'user' || access === 'platform') return false;
  if (actor.role === 'owner') return true;
  if (actor.role !== 'admin' || access === 'owner') return false;
  return access === 'admins' || actor.rights.includes(SCHNITTSTELLEN);
}

/** Throws `forbidden` unless the actor may call procedures with this access. */
export function requireAccess(actor: Actor, access: Access): void {
  if (!mayAccess(actor, access)) throw new ProblemError('forbidden');
}
