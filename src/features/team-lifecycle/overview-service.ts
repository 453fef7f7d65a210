/** What the operator's commands ask about a team besides the procedures that they call. */
import { ProblemError } from '../../core/problem.ts';
import type { Tx } from '../../db/client.ts';
import type { TeamStatus } from '../../core/vocabularies.ts';
import { findTeamForUpdate } from './store.ts';

/** The team with what it has, or null. A count of more than `COUNT_MAX` is cut. */
export { COUNT_MAX, findOverview as describeTeam, type TeamOverview } from './overview-store.ts';

/**
 * Locks the team until the transaction ends, and its sandbox before. Throws `conflict` if its
 * status is none of these. A team that is unknown or being erased is left to the procedure that
 * follows.
 */
export async function requireStatus(
  tx: Tx,
  teamId: string,
  allowed: readonly TeamStatus[],
): Promise<void> {
  const team = await findTeamForUpdate(tx, teamId);
  if (!team || allowed.includes(team.status)) return;
  throw new ProblemError('conflict', { detail: `The status of the team is ${team.status}.` });
}
