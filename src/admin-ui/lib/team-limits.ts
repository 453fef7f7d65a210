import type { TEAM_LIMITS } from '../../core/team-limits.ts';
import type { Mode } from '../../core/sandbox.ts';

/** The type has the numbers of the service: others do not compile. */
const LIMITS: typeof TEAM_LIMITS = {
  liveKeys: { live: 50, test: 10 },
  webhookEndpoints: { live: 50, test: 5 },
  resentDeliveries: { live: 10_000, test: 500 },
  crmConnections: { live: 10, test: 3 },
};

/** How many the team may have, if it has as many; null: there is room, or nobody knows yet. */
export function fullAt(
  name: keyof typeof TEAM_LIMITS,
  mode: Mode,
  count: number | undefined,
): number | null {
  const limit = LIMITS[name][mode];
  return count !== undefined && count >= limit ? limit : null;
}
