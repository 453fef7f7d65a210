import type { z } from 'zod';
import { showsLeaderboard, type Privacy } from '../../core/privacy.ts';
import { drawBoard, type TeamSummary } from './rules.ts';
import type { teamAnalytics, teamResults } from './schema.ts';

type TeamAnalytics = z.output<typeof teamAnalytics>;

/** `members` is the board if privacy allows it for so many entries, or else empty. */
export function toTeamAnalytics(
  privacy: Privacy,
  { board, ...rest }: Omit<TeamAnalytics, 'members'> & { readonly board: TeamAnalytics['members'] },
): TeamAnalytics {
  return { ...rest, members: showsLeaderboard(privacy, board.length) ? board : [] };
}

/** `people` is what the admin page draws of the board, if privacy allows a board of that size. */
export function toTeamResults(
  privacy: Privacy,
  { board, ...rest }: TeamSummary,
): z.output<typeof teamResults> {
  return { ...rest, people: showsLeaderboard(privacy, board.length) ? drawBoard(board) : null };
}
