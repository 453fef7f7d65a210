/**
 * Decisions about sandboxes, of which the specification knows nothing:
 *  * A sandbox is a team whose id is that of its live team with `:sandbox` at the end. So there is
 *    one at most, and every wall between teams stands between the two.
 *  * Its admins are those of the live team. They act there as its owner, a member that every
 *    scenario has, with the role and the rights that they have in the live team at that moment.
 *  * A test key is made by that owner, so it may do what an owner's key may.
 *  * To create a sandbox that exists changes nothing. A reset brings its scenario back, or another
 *    one, in one transaction: keys, webhook endpoints, events, the audit log and the switches of
 *    privacy stay. It raises no event: nothing has happened to anybody.
 *  * Its plan and its status follow those of the live team. It ends and is erased with it.
 *  * It has seats and limits of its own (`LIMITS`), below those of a live team, and at most 20,000
 *    trainings: a stage, not a store.
 *  * It sends no mail. What a live team would have sent is kept for 30 days, or until a reset.
 *  * The ids of a scenario are fixed, so that a guide and a test can name them. Its times are
 *    counted back from the reset.
 */
import { ProblemError } from '../../core/problem.ts';

export const SCENARIOS = ['empty', 'typical', 'large'] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** How many trainings each scenario has. */
export const TRAININGS: Readonly<Record<Scenario, number>> = {
  empty: 0,
  typical: 60,
  large: 10_000,
};

/** What a sandbox has at most. */
export const LIMITS = { seats: 200, requestsPerMinute: 300, trainings: 20_000 } as const;

/** The limit of a sandbox's requests in a minute, which is never above that of its live team. */
export function requestsPerMinute(ofLiveTeam: number): number {
  return Math.min(ofLiveTeam, LIMITS.requestsPerMinute);
}

/** Throws `not_found` for a team without a sandbox. */
export function requireSandbox<Row>(row: Row | null): Row {
  if (row) return row;
  throw new ProblemError('not_found', { detail: 'The team has no sandbox. Create it first.' });
}
