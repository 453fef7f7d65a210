/**
 * Decisions about assignments that the specification leaves open:
 *  * A request can set the status to `open` or `done`, from any status. Anything else is a
 *    validation error of the field `status`.
 *  * `assignment.completed` is emitted when the status becomes `done` and was not `done` before.
 *    Setting the status back to `open` keeps the training that completed the assignment.
 *  * A creation is checked in this order: the recipient exists, the entries are visible, no catalog
 *    rule forbids the combination, no policy blocks an entry. An entry is visible if it has the
 *    right kind and is released to the team or the team's own. If several dimensions fail the same
 *    check, the first one in the order of `COMBINED` is reported.
 *  * If a catalog rule forbids the combination, the first dimension that the rule names is
 *    reported.
 *  * An empty PATCH changes nothing and adds no audit entry.
 *  * When an assignment is deleted, the trainings made for it stay. Their `assignment_id` becomes
 *    null.
 */
import { invalidField, ProblemError } from '../../core/problem.ts';

/** The dimensions that an assignment combines, in the order in which problems are reported. */
export const COMBINED = ['situation', 'personality', 'industry'] as const;
export type Dimension = (typeof COMBINED)[number];

/** The id of an entry for each dimension. */
export type Combination = Readonly<Record<Dimension, string>>;

/** What the catalog and the policies say about a combination. */
export interface CombinationFacts {
  /** The dimensions whose entries are visible. */
  readonly visible: readonly Dimension[];
  /** The ids of the entries that a policy blocks, in any order. */
  readonly blocked: readonly string[];
  /** The first dimension of a catalog rule that forbids the combination; null: none does. */
  readonly forbidden: Dimension | null;
}

/** The statuses of an assignment that a request can set. */
export const SETTABLE = ['open', 'done'] as const;
/** All statuses of an assignment. */
export const STATUSES = [...SETTABLE, 'revoked'] as const;

/** Returns the status. Throws `validation_error` (field `status`) unless it can be set. */
export function requireSettableStatus(status: string): (typeof SETTABLE)[number] {
  const settable = SETTABLE.find((one) => one === status);
  if (settable) return settable;
  throw invalidField('status', 'An assignment can be set to open or done.');
}

/**
 * Throws `kombination_ungueltig` if an entry is not visible or a catalog rule forbids the
 * combination, `vorgabe_gesperrt` if a policy of the recipient blocks an entry.
 */
export function requireAllowed(combination: Combination, facts: CombinationFacts): void {
  const invisible = COMBINED.find((dimension) => !facts.visible.includes(dimension));
  if (invisible) {
    const detail =
      `The ${invisible} is unknown, or not visible to the team. ` + 'Use an id from GET /catalog.';
    throw new ProblemError('kombination_ungueltig', {
      dimension: invisible,
      id: combination[invisible],
      detail,
    });
  }
  if (facts.forbidden) {
    throw new ProblemError('kombination_ungueltig', {
      dimension: facts.forbidden,
      detail:
        `The catalog forbids this ${facts.forbidden} in this combination. ` +
        'Choose another one from GET /catalog.',
    });
  }
  const blocked = COMBINED.find((dimension) => facts.blocked.includes(combination[dimension]));
  if (blocked)
    throw new ProblemError('vorgabe_gesperrt', {
      detail:
        `A policy of the team or of the recipient blocks the ${blocked}. ` +
        'Choose another one, or change the policy in the app.',
    });
}
