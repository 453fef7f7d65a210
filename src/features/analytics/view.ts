import type { z } from 'zod';
import { showsLeaderboard, type Privacy } from '../../core/privacy.ts';
import type { teamAnalytics, teamResults } from './schema.ts';

type TeamAnalytics = z.output<typeof teamAnalytics>;

/** `members` is the board if privacy allows it for so many entries, or else empty. */
export function toTeamAnalytics(
  privacy: Privacy,
  { board, ...rest }: Omit<TeamAnalytics, 'members'> & { readonly board: TeamAnalytics['members'] },
): TeamAnalytics {
  return { ...rest, members: showsLeaderboard(privacy, board.length) ? board : [] };
}

type TeamResults = z.output<typeof teamResults>;

/** `people` is what is drawn of the board if privacy allows so many entries, or else null. */
export function toTeamResults(
  privacy: Privacy,
  { involved, people, ...rest }: TeamResults & { readonly involved: number },
): TeamResults {
  return { ...rest, people: showsLeaderboard(privacy, involved) ? people : null };
}
