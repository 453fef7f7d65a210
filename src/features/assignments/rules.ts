/**
 * Decisions about assignments that the specification leaves open:
 *  * A request sets the status `open` or `done`, from any state; anything else is a validation error of the field `status`.
 *  * `assignment.completed` is raised when the status becomes `done` and was not; setting it back to `open` forgets no training.
 *  * Checks of a creation, in this order: recipient, entries known and visible, catalog rules, policy. An entry is visible when it is released to
 *    the team, or the team's own, and of the right kind. The catalog's order of dimensions decides which of several faults is told.
 *  * A rule of the catalog that forbids a combination is told with the first dimension that it names.
 *  * An empty PATCH changes nothing, and is no audit entry.
 *  * A deleted assignment is forgotten by the trainings that were made for it: their `assignment_id` becomes null.
 */
import { invalidField, ProblemError } from '../../core/problem.ts';

/** The dimensions that an assignment combines, in the order in which faults are told. */
export const DIMENSIONS = ['situation', 'personality', 'industry'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export type Combination = Readonly<Record<Dimension, string>>;

export interface CombinationFacts {
  readonly visible: Readonly<Record<Dimension, boolean>>;
  readonly blocked: Readonly<Record<Dimension, boolean>>;
  /** The first dimension of a catalog rule that forbids the combination, or null. */
  readonly forbidden: Dimension | null;
}

/** Throws `validation_error` (field `status`) for anything but `open` and `done`. */
export function requireSettableStatus(status: string): 'open' | 'done' {
  if (status === 'open' || status === 'done') return status;
  throw invalidField('status', 'An assignment can be set to open or done.');
}

/** Throws `kombination_ungueltig` or `vorgabe_gesperrt`. */
export function requireAllowed(combination: Combination, facts: CombinationFacts): void {
  const invisible = DIMENSIONS.find((dimension) => !facts.visible[dimension]);
  if (invisible) {
    const detail = `Unknown ${invisible}, or not visible to the team.`;
    throw new ProblemError('kombination_ungueltig', {
      dimension: invisible,
      id: combination[invisible],
      detail,
    });
  }
  if (facts.forbidden) {
    throw new ProblemError('kombination_ungueltig', {
      dimension: facts.forbidden,
      detail: 'The catalog forbids this combination.',
    });
  }
  const blocked = DIMENSIONS.find((dimension) => facts.blocked[dimension]);
  if (blocked)
    throw new ProblemError('vorgabe_gesperrt', {
      detail: `A policy of the recipient blocks the ${blocked}.`,
    });
}
