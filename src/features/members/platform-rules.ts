/**
 * Decisions about what the host application does with members:
 *  * Accepting an invitation links the person and makes the membership active; `member.joined` was raised when it was created (decision 17). Accepted again
 *    by the same person, it is the same answer; by another, a `conflict`; so is an acceptance by somebody who has another live membership in the team.
 *  * Deleting a person takes their email (all that is known of their name) from every membership of theirs, and from invitations to the same address. Live
 *    ones end first, as a removal through the API does, with its refusals (`owner`, `last_admin`), its event and its revoked assignments.
 *  * The user id stays: to this service it is an opaque id of the host application's, and the figures, trainings and cases hang on it. Whoever it was is
 *    known to the host application alone, and that forgets it. Private cases stay stored; `cases.remove` takes them.
 *  * Deleting a person again changes nothing. A response kept for `Idempotency-Key` may hold the address for the rest of its 24 hours.
 */
import { ProblemError } from '../../core/problem.ts';
import type { MemberFacts } from './rules.ts';

/** Whether there is something to do. Throws `conflict`. */
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
