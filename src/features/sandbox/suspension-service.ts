/** The end of a suspension that was played. */
import { newRequestId } from '../../core/ids.ts';
import { liveIdOf, SANDBOX_ACTOR } from '../../core/sandbox.ts';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { lockTeam } from '../../db/team-lock.ts';
import type { PlatformChangeContext } from '../../db/change-context.ts';
import { updateTeam } from '../team-lifecycle/service.ts';
import * as plays from './play-store.ts';
import { findSandbox, lockLiveTeam } from './store.ts';

/** The job at the end of a suspension. Opens a transaction. */
export async function endSuspensionOnTime(
  db: Db,
  clock: Clock,
  { teamId, until }: { readonly teamId: string; readonly until: string },
): Promise<void> {
  const host = { teamId, actor: SANDBOX_ACTOR, requestId: newRequestId(), at: clock.now() };
  await endSuspension(db, host, until);
}

/**
 * Ends the suspension that was to last until then: the sandbox has the status that its live team
 * has now. Another suspension, or none, stays as it is. The context's team is the sandbox. Opens a
 * transaction.
 */
export async function endSuspension(
  db: Db,
  host: PlatformChangeContext,
  until: string | null,
): Promise<void> {
  if (until === null) return;
  const { teamId } = host;
  await db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const live = await lockLiveTeam(tx, liveIdOf(teamId));
    const sandbox = await findSandbox(tx, teamId);
    if (!live || sandbox?.suspended_until !== until) return;
    const status = live.status as 'active' | 'suspended' | 'ended';
    await updateTeam(tx, host, { team_id: teamId, status });
    await plays.markPlayed(tx, teamId, { suspendedUntil: null });
  });
}
