import { privacyOf } from '../core/privacy.ts';
import { unknownId } from '../core/problem.ts';
import { statement, type Tx } from './client.ts';
import type { ChangeContext, RecordContext } from './outbox.ts';

/**
 * The change context of a call by the host application, before its transaction. The transaction
 * reads the privacy switches.
 */
export type PlatformChangeContext = Omit<ChangeContext, 'privacy'>;

const READ = statement<{ member_detail_enabled: boolean; leaderboard_enabled: boolean }>(
  'db.readTeamPrivacy',
  `select member_detail_enabled, leaderboard_enabled
   from team
   where id = $1 and erasing_since is null`,
  { because: 'hot' },
);

/**
 * Adds the team's current privacy switches to the context. Call it after the transaction has waited
 * for its locks, so that its events follow the latest switches. Throws `not_found` for a team that
 * is unknown or being erased. The team may be suspended: the host application goes on recording.
 */
export async function readChangeContext<C extends Omit<RecordContext, 'privacy'>>(
  tx: Tx,
  context: C,
): Promise<C & Pick<RecordContext, 'privacy'>> {
  const [row] = await tx.query(READ, [context.teamId]);
  if (!row) throw unknownId('team_id');
  const { member_detail_enabled, leaderboard_enabled } = row;
  return {
    ...context,
    privacy: privacyOf({
      memberDetailEnabled: member_detail_enabled,
      leaderboardEnabled: leaderboard_enabled,
    }),
  };
}
