import { privacyOf } from '../core/privacy.ts';
import { notFound } from '../core/problem.ts';
import { statement, type Tx } from './client.ts';
import type { Occasion } from './outbox.ts';

/** What a platform service's call knows before its transaction: the privacy switches are read in it. */
export type PlatformOccasion = Omit<Occasion, 'privacy'>;

const READ = statement<{ member_detail_enabled: boolean; leaderboard_enabled: boolean }>(
  'db.readTeamPrivacy',
  'select member_detail_enabled, leaderboard_enabled from team where id = $1',
);

/**
 * The occasion with the team's privacy switches as they are now; ask after the locks that the transaction waits for, so that what it raises is told as the
 * team wants it then. Throws `not_found` for an unknown team. Whether the team is active does not matter: the host application goes on recording.
 */
export async function readOccasion(tx: Tx, occasion: PlatformOccasion): Promise<Occasion> {
  const [row] = await tx.query(READ, [occasion.teamId]);
  if (!row) throw notFound();
  const { member_detail_enabled, leaderboard_enabled } = row;
  return {
    ...occasion,
    privacy: privacyOf({ memberDetailEnabled: member_detail_enabled, leaderboardEnabled: leaderboard_enabled }),
  };
}
