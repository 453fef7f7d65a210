import { modeOf, type Mode } from './sandbox.ts';

/**
 * How much a team may have at once. A sandbox has less, so that many of them cost little. Its seats
 * and its rate limit stand in its row, as those of any team do (features/sandbox/rules.ts).
 */
export const TEAM_LIMITS = {
  liveKeys: { live: 50, test: 10 },
  webhookEndpoints: { live: 50, test: 5 },
  /** Deliveries that one resend of one webhook endpoint sends again. */
  resentDeliveries: { live: 10_000, test: 500 },
  crmConnections: { live: 10, test: 3 },
} as const satisfies Readonly<Record<string, Readonly<Record<Mode, number>>>>;

/** A limit of the team with this id. */
export function limitOf(teamId: string, name: keyof typeof TEAM_LIMITS): number {
  return TEAM_LIMITS[name][modeOf(teamId)];
}
