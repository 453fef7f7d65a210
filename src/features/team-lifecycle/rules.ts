/**
 * Decisions about teams, which the host application creates and updates:
 *  * A creation is identified by its team id. Repeated with the same input, it returns the same
 *    result and changes nothing, even if the team has changed since. With other input it throws
 *    `conflict`. So does a creation of a team that was created in another way, for instance from a
 *    seed file.
 *  * A team's name is one line without control characters, because it stands in subjects of mails.
 *  * The owner is a member from the team's creation on, active from the start, with the right
 *    `schnittstellen`. Both have the same `created_at`, which tells who the owner of the creation
 *    was. Rejected: the oldest member, since the clocks of processes differ, and a column with the
 *    id, which would say the same again.
 *  * An update sets the given fields. One that changes nothing writes no audit entry. A team may
 *    have more members than seats, because it may switch to a smaller plan.
 *  * Ownership passes to an active member, who gets the right `schnittstellen` like a first owner.
 *    The old owner stays an active member with the role `admin`, without rights, as after every
 *    change of role. Passed to the owner of now, nothing changes. A team whose owner was deleted
 *    (see `deletePerson`) gets one in the same way.
 *  * A team that has ended can be erased. From the request on it is `not_found` to all other calls,
 *    and a `conflict` for a creation with its id. Repeated, the request changes nothing. When all
 *    is gone it is `not_found`, too, and the id is free again: nothing is left that could tell an
 *    erased team from one that never was. To erase a team that has not ended is a `conflict`,
 *    because an erasure cannot be undone.
 *  * A suspended or ended team is closed to its keys and admins. The host application goes on
 *    recording what happens in it.
 */
import { createHash } from 'node:crypto';
import type { MemberStatus } from '../../core/actor.ts';
import { canonicalJson } from '../../core/json.ts';
import { invalidField, ProblemError } from '../../core/problem.ts';

/** Hashes the input, to recognize a repeated creation. */
export function hashCreation(input: object): Buffer {
  return createHash('sha256').update(canonicalJson(input)).digest();
}

/** Throws `validation_error` (field `member_id`) unless the member has accepted the invitation. */
export function requireMayOwn({ status }: { readonly status: MemberStatus }): void {
  if (status !== 'active') throw invalidField('member_id', 'An owner is an active member.');
}

/** Throws `conflict` unless the team has ended. */
export function requireEnded(status: string): void {
  if (status !== 'ended') throw new ProblemError('conflict', { detail: 'The team has not ended.' });
}
