import type { z } from 'zod';
import { showsLeaderboard, type Privacy } from '../../core/privacy.ts';
import type { teamAnalytics } from './schema.ts';

type TeamAnalytics = z.output<typeof teamAnalytics>;

/** `members` is the board if privacy allows it for so many entries, or else empty. */
export function toTeamAnalytics(
  privacy: Privacy,
  { board, ...rest }: Omit<TeamAnalytics, 'members'> & { readonly board: TeamAnalytics['members'] },
): TeamAnalytics {
  return { ...rest, members: showsLeaderboard(privacy, board.length) ? board : [] };
}
