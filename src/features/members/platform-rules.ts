/**
 * Decisions about members whom the host application reports:
 *  * Accepting an invitation links the person and makes the membership active. It raises no event,
 *    because `member.joined` was raised when the membership was created. If the same person accepts
 *    again, the answer is the same. If another person accepts, it is a `conflict`. It is a
 *    `conflict`, too, if the person has another live membership in the team.
 *  * Deleting a person removes their email from every membership of theirs, and from invitations to
 *    the same address. The email is all that this service knows of their name. Live memberships end
 *    first, as a removal through the API does: with the same refusals (`owner`, `last_admin`), the
 *    same event, and the assignments revoked. Once the team has ended nothing is refused, because
 *    nobody needs its owner or its last admin any more.
 *  * With the owner whom the team was created with goes the hash of that creation, which names the
 *    address. If the creation is repeated then, it is a `conflict`.
 *  * The user id stays. To this service it is an opaque id of the host application, and figures,
 *    trainings and cases refer to it. Only the host application knows whose it was, and it forgets
 *    that. Private cases stay stored; `cases.remove` deletes them.
 *  * The audit log names the user at `member.accepted` and `person.deleted` also while
 *    `member_detail_enabled` is off. GET /users shows then, too, which user a membership has. What
 *    a person did is withheld (`core/audit-actions.ts`).
 *  * The responses that are kept for an `Idempotency-Key` lose the address, too.
 *  * Deleting a person again changes nothing.
 */
import { ProblemError } from '../../core/problem.ts';
import type { MemberFacts } from './rules.ts';

/**
 * Returns false if the person has accepted the invitation already, so that nothing is left to do.
 * Throws `conflict`.
 */
export function requireAcceptable(
  target: MemberFacts & { readonly user_id: string | null },
  userId: string,
  isLiveAlready: boolean,
): boolean {
  if (target.status === 'active') {
    if (target.user_id === userId) return false;
    throw new ProblemError('conflict', { detail: 'Somebody else accepted the invitation.' });
  }
  if (isLiveAlready)
    throw new ProblemError('conflict', {
      detail: 'The person has another membership in the team.',
    });
  return true;
}
