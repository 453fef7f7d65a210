/**
 * Decisions about a team's settings that the specification leaves open:
 *  * The right `schnittstellen` is granted to active admins only; for anybody else, the owner included (who has every right by role), it is a validation error
 *    of the field `member_id`. It counts only while its holder is an admin (`core/access.ts`). It can be withdrawn from every live member. Granting what is held and
 *    withdrawing what is not are no change.
 *  * A switch, a policy or a release that is already as wanted is no change: no audit entry.
 *  * A policy is a list of blocked ids, set as a whole; repeated ids collapse. An id that is neither the team's own entry nor a global one is a validation error of
 *    `blocked`, unless the policy holds it already: an entry that has left the catalog must not make the list unchangeable. An entry that is not released may be
 *    blocked, against the day when it is.
 *  * Released are all global entries, those to come included, or a list of ids; an empty list leaves the team its own entries. An id that is no global entry is a
 *    validation error of `released`: the team's own entries need no release.
 *  * A member's policy is read and set while the membership is active or invited, as an invited member may be a recipient.
 *  * The admins' catalog shows what the team could use, with what keeps it from it: its own entries, and all global ones that no entry of its own hides.
 *    It is ordered by id.
 */
import type { MemberStatus, Role } from '../../core/actor.ts';
import { invalidField } from '../../core/problem.ts';

/** Throws `validation_error` (field `member_id`) for anybody but an active admin. Read under the team's lock. */
export function requireActiveAdmin(target: {
  readonly role: Role;
  readonly status: MemberStatus;
}): void {
  if (target.role === 'admin' && target.status === 'active') return;
  throw invalidField(
    'member_id',
    'Only an active admin can be granted a right; the owner has them all.',
  );
}

/** What makes one set of ids another. */
export interface IdChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export function changeOf(before: readonly string[], after: readonly string[]): IdChange {
  const [old, wanted] = [new Set(before), new Set(after)];
  return {
    added: [...wanted].filter((id) => !old.has(id)),
    removed: [...old].filter((id) => !wanted.has(id)),
  };
}

export function isChange({ added, removed }: IdChange): boolean {
  return added.length > 0 || removed.length > 0;
}

/** Throws `validation_error` (field `blocked`) that names the first id of `added` that is unknown. */
export function requireBlockable(change: IdChange, known: readonly string[]): void {
  requireKnown('blocked', change.added, known);
}

/** Throws `validation_error` (field `released`) that names the first id that is no global entry. */
export function requireReleasable(released: readonly string[], known: readonly string[]): void {
  requireKnown('released', released, known);
}

function requireKnown(field: string, ids: readonly string[], known: readonly string[]): void {
  const knownIds = new Set(known);
  const unknown = ids.find((id) => !knownIds.has(id));
  if (unknown !== undefined)
    throw invalidField(field, `Unknown catalog entry: ${unknown.slice(0, 100)}`);
}
