/** Removes the sandbox of a live team. */
import { unknownId } from '../../core/problem.ts';
import { sandboxIdOf } from '../../core/sandbox.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import { markSandbox } from '../team-lifecycle/erasure-service.ts';
import * as rules from './rules.ts';
import { lockLiveTeam } from './store.ts';

/**
 * Marks the sandbox of a live team for its erasure. A repeated call changes nothing. Opens a
 * transaction. Throws `not_found`, and `conflict` in the sandbox itself.
 */
export async function removeSandbox(db: Db, context: PlatformChangeContext): Promise<void> {
  const { teamId, at } = context;
  rules.requireLive(teamId);
  const targetId = sandboxIdOf(teamId);
  await db.transaction(async (tx) => {
    lockTeam(tx, targetId);
    if (!(await lockLiveTeam(tx, teamId))) throw unknownId('team_id');
    const erasure = await markSandbox(tx, targetId, at);
    if (erasure.kind === 'none') throw rules.noSandbox();
    if (erasure.kind === 'erasing') return;
    record(tx, await readChangeContext(tx, context), {
      audit: { action: 'sandbox.removed', targetId },
      jobs: [erasure.job],
    });
  });
}
