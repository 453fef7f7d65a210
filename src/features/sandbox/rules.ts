/**
 * Decisions about sandboxes, of which the specification knows nothing:
 *  * A sandbox is a team whose id is that of its live team with `:sandbox` at the end. So there is
 *    one at most, and every wall between teams stands between the two.
 *  * Its admins are those of the live team. They act there as its owner, a member that every
 *    scenario has, with the role and the rights that they have in the live team at that moment.
 *  * A test key is made by that owner, so it may do what an owner's key may.
 *  * To create a sandbox that exists changes nothing. A reset brings its scenario back, or another
 *    one, in one transaction: keys, webhook endpoints, events, the audit log and the switches of
 *    privacy stay. Nothing of the catalog is blocked or withheld any more. It raises no event:
 *    nothing has happened to anybody. A second reset waits some seconds for the first one, and then
 *    is a `conflict` with `retry_after`.
 *  * The responses that are kept for an `Idempotency-Key` go with what they tell of, the refused
 *    ones, too. So a test with fixed keys can be run again after a reset. Those of webhook
 *    endpoints, which stay, and of resets stay: a reset that is repeated late resets nothing.
 *  * A sandbox may be reset 30 times in an hour, by its keys and admins together. A reset to
 *    `large` writes 18,000 rows, in a loop 11 MB of WAL a second, and counts as one request. So 30
 *    resets leave room for a test suite, and write less than two minutes of that loop. The audit
 *    log, which a reset leaves, counts them. Rejected: a limit for `large` only, because each reset
 *    also removes what the one before has written.
 *  * The rows of a sandbox are not limited in number. Where a reset takes longer than a statement
 *    may, it is a `conflict` that says what helps: to remove the sandbox, which works in steps, and
 *    to create it again. Rejected: to count rows before each insert, which costs every write a
 *    statement; to remove rows in steps, because then somebody would meet half of a scenario, or a
 *    death would leave it.
 *  * Of the two teams' rows that of the sandbox is locked first. So whoever waits for a reset does
 *    not keep the live team waiting. A creation fills the sandbox before it locks the live team,
 *    and then takes over what has changed there meanwhile: nobody sees the sandbox before.
 *  * A combination that the catalog forbids is a row of `catalog_rule`, which holds for all teams.
 *    It names two ids that only sandboxes have, so no live team meets it, unless the host
 *    application gives entries of its own just these ids. A migration has written it, and a reset
 *    leaves it. A scenario cannot have rules of its own: the platform knows none of one team.
 *    Rejected: to write it with each reset, which would let one team's write wait for others.
 *  * Its name, plan, status, language and limit of requests follow those of the live team. It ends
 *    and is erased with it.
 *  * It has seats and limits of its own (`SANDBOX_LIMITS`), below those of a live team: it is a
 *    stage, not a store.
 *  * It sends no mail. What a live team would have sent is kept for 30 days, or until a reset.
 *  * Its other limits are smaller, too (`core/team-limits.ts`), and what has an age is kept for 30
 *    days (`retention/rules.ts`). Its CRM is simulated (`crm/providers/simulated.ts`): a round
 *    reads the same account, once a day or when somebody asks for one.
 *  * It stays until it is removed or its team ends. An admin of the live team or the host
 *    application may remove it at any time. Its rows are erased in the background like those of a
 *    team that has ended. Until they are gone there is no sandbox, and to create one is a
 *    `conflict`.
 *  * The ids of a scenario are fixed, so that a guide and a test can name them. Its times are
 *    counted back from the reset.
 */
import { requireBelowHourlyLimit } from '../../core/hourly-limit.ts';
import { ProblemError } from '../../core/problem.ts';
import { isSandbox } from '../../core/sandbox.ts';
import type { Scenario } from '../../core/vocabularies.ts';

/** How many trainings each scenario has. */
export const TRAININGS: Readonly<Record<Scenario, number>> = {
  empty: 0,
  typical: 60,
  large: 10_000,
};

export const RESETS_PER_HOUR = 30;
export const RESET_LIMIT = `A sandbox may be reset ${RESETS_PER_HOUR} times per hour.`;

/**
 * Throws `rate_limited`. `limitingResetAt`: the time of the oldest of the last `RESETS_PER_HOUR`
 * resets; null if there were fewer in the hour before.
 */
export function requireBelowResetLimit(limitingResetAt: string | null, now: Date): void {
  requireBelowHourlyLimit(limitingResetAt, now, RESET_LIMIT);
}

/** The number of mails that a sandbox keeps. */
export const MAILS_MAX = 1_000;

/** The problem of a creation while the former sandbox is being erased. */
export function beingRemoved(): ProblemError {
  return new ProblemError('conflict', {
    detail: 'The sandbox is being removed. Try again in a minute.',
  });
}

/** The problem of a reset while another one runs. It says when to try again. */
export function beingReset(): ProblemError {
  return new ProblemError('conflict', {
    retry_after: 2,
    detail: 'The sandbox is being reset. Wait until that is done, then reset it again if need be.',
  });
}

/** The problem of a reset that could not remove so many rows in time. */
export function tooMuchToReset(): ProblemError {
  return new ProblemError('conflict', {
    detail: 'The sandbox has too many rows for a reset. Remove it in the app, and create it again.',
  });
}

/** Throws `conflict` in a sandbox: nobody there can say who removes it. */
export function requireLive(teamId: string): void {
  if (isSandbox(teamId))
    throw new ProblemError('conflict', { detail: 'Remove the sandbox from its live team.' });
}

/** Throws `not_found` for a team without a sandbox. */
export function requireSandbox<Row>(row: Row | null): Row {
  if (row) return row;
  throw noSandbox();
}

/** The problem of a team without a sandbox. */
export function noSandbox(): ProblemError {
  return new ProblemError('not_found', { detail: 'The team has no sandbox. Create it first.' });
}
