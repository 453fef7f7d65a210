import { privacyOf, type Privacy } from '../../../core/privacy.ts';
import type { RowOf } from '../../../db/rows.ts';
import type { TeamFacts } from '../../../trpc/context.ts';

/** What every caller's permissions depend on. */
export interface TeamRow extends RowOf<
  'Team',
  'plan' | 'language' | 'rate_limit_per_min' | 'member_detail_enabled' | 'leaderboard_enabled'
> {
  readonly team_status: string;
}

/** SQL: the columns of a `TeamRow`. */
export const TEAM_COLUMNS = `plan, team_status, language, rate_limit_per_min,
     member_detail_enabled, leaderboard_enabled`;

/** What a caller's permissions depend on, besides the caller. */
export function teamFactsOf(
  id: string,
  row: TeamRow,
): {
  readonly team: TeamFacts;
  readonly privacy: Privacy;
} {
  return {
    team: {
      id,
      plan: row.plan,
      language: row.language,
      rateLimitPerMinute: row.rate_limit_per_min,
    },
    privacy: privacyOf({
      memberDetailEnabled: row.member_detail_enabled,
      leaderboardEnabled: row.leaderboard_enabled,
    }),
  };
}
