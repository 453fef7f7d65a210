/**
 * Decisions about a team's settings that the specification leaves open:
 *  * The right `schnittstellen` is granted to active admins only. For anybody else it is a
 *    validation error of the field `member_id`. That includes the owner, whose role has every
 *    right. The right counts only while its holder is an admin (`core/access.ts`). It can be
 *    withdrawn from every live member. Granting a right that is held, or withdrawing one that is
 *    not, is no change.
 *  * Setting a switch, a policy or a release to its current value is no change and writes no audit
 *    entry.
 *  * Turning `member_detail_enabled` off also holds for changes that wait for the team meanwhile:
 *    their events, audit entries and responses name no person. A new assignment locks no
 *    team, so it keeps the switches with which its request began.
 *  * A policy is a list of blocked ids, which is set as a whole. Repeated ids collapse. An id that
 *    is neither an own entry of the team nor a global one is a validation error of the field
 *    `blocked`, unless the policy blocks it already: an entry that has left the catalog must not
 *    make the list unchangeable. An entry that is not released can be blocked, in case it is
 *    released later.
 *  * A list is set as a whole, so of two admins who read it and set it, the second would undo what
 *    the first one changed. `was`, the list as it was read, prevents that: `precondition_failed` if
 *    it is another one now. It is optional, for whoever means the list whatever it was.
 *  * A release is either all global entries, future ones included, or a list of ids. With an empty
 *    list, the team has only its own entries. An id that is no global entry is a validation error
 *    of the field `released`. The team's own entries need no release.
 *  * A member's policy can be read and set while the membership is active or invited, because an
 *    invited member can receive assignments.
 *  * The admins' catalog lists every entry that the team could use, with the reasons why it cannot:
 *    its own entries, and all global ones that no own entry hides. It is ordered by id.
 */
import type { MemberStatus, Role } from '../../core/actor.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';

/**
 * Throws `validation_error` (field `member_id`) for anybody but an active admin. Read the target
 * under the team's lock.
 */
export function requireActiveAdmin(target: {
  readonly role: Role;
  readonly status: MemberStatus;
}): void {
  if (target.role === 'admin' && target.status === 'active') return;
  throw invalidField(
    'member_id',
    'Only an active admin can be granted a right; the owner has them all.',
    'not_active_admin',
  );
}

/** The global entries that are released to a team. */
export type Released = 'all' | readonly string[];

/** The difference between two sets of ids. */
export interface IdChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Returns what to add to `before`, and what to remove from it, to get `after`. */
export function changeOf(before: readonly string[], after: readonly string[]): IdChange {
  const [old, wanted] = [new Set(before), new Set(after)];
  return {
    added: [...wanted].filter((id) => !old.has(id)),
    removed: [...old].filter((id) => !wanted.has(id)),
  };
}

/** Whether the two sets differ. */
export function isChange({ added, removed }: IdChange): boolean {
  return added.length > 0 || removed.length > 0;
}

/**
 * Throws `precondition_failed` if what is changed was another one than the caller has read. Order
 * does not count. `was`: what the caller has read, if it says so.
 */
export function requireUnchanged(was: Released | undefined, now: Released): void {
  if (was === undefined || was === now) return;
  if (was === 'all' || now === 'all' || isChange(changeOf(was, now)))
    throw new ProblemError('precondition_failed');
}

/** Throws `validation_error` (field `blocked`) with the first added id that is not in `known`. */
export function requireBlockable(change: IdChange, known: readonly string[]): void {
  requireKnown('blocked', change.added, known);
}

/** Throws `validation_error` (field `released`) with the first id that is not in `known`. */
export function requireReleasable(released: readonly string[], known: readonly string[]): void {
  requireKnown('released', released, known);
}

function requireKnown(field: string, ids: readonly string[], known: readonly string[]): void {
  const knownIds = new Set(known);
  const unknown = ids.find((id) => !knownIds.has(id));
  if (unknown !== undefined)
    throw invalidField(field, `Unknown catalog entry: ${unknown.slice(0, 100)}`);
}
