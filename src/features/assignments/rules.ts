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
 *  * `external_ref` is free-form JSON as that of cases, but of at most 4 KiB: it is for the names
 *    that an assignment has elsewhere. Its `id` is a text of 1 to 200 characters or a number, since
 *    `external_ref_id` finds it by an index. Anything else there is refused, and not left unfound.
 *  * A page ends after 256 KB, as those of cases do. Only a page with a long note or reference is
 *    measured, by a second statement (`page-store.ts`). References that Postgres has compressed may
 *    pass unmeasured: 0.8 MB a page at most.
 *  * An `external_ref` is not unique. One thing elsewhere may be many assignments, for instance a
 *    course of a whole department, and an assignment may be made again after it was deleted.
 *  * Filters are equalities, and all must match; one that matches nothing gives an empty page.
 *    `status` is an open set. `due_before` is exclusive, and leaves out what has no date.
 *  * With `updated_since` the list is in the order of the last change, which is that of an index:
 *    who polls reads only what is new. Creation, PATCH, completion and revocation are changes, and
 *    so is another `member_user_id` or `member_email`: an invitation was accepted or has ended, a
 *    person was deleted. What changes while such pages are read moves to the front, and may be
 *    missing from them: the next poll returns it. The time is the database's, like that of
 *    evaluations, and polls overlap (`core/polling.ts`).
 *  * A member, an external id and the last change each have an index. A status or a due date alone
 *    is looked for among 10,000 assignments a page, and `next_cursor` leads on: an index for each
 *    would be paid for by every new assignment and every completion.
 *  * An empty PATCH changes nothing and adds no audit entry.
 *  * A batch creates up to 100 assignments in one transaction. Each entry is checked as a single
 *    creation is, by the same code, and its problem is the one that `POST /assignments` would
 *    respond with, its shape included. So one entry never spoils the others, unless the caller
 *    wants all or none, or its text cannot be stored: that is looked for in the whole body first,
 *    as in every other, before anything reads it. An entry may repeat another one: nothing about an
 *    assignment is unique.
 *  * The response to a batch is 200, even if all entries were refused: it says what became of each.
 *    With `all_or_none` one wrong entry is an error of the call, `batch_refused`, which names all
 *    wrong entries. Nobody takes it for a success, and a repeated call gets it again.
 *  * A batch counts as one request. The limits count requests before their body is read, so that
 *    refused ones count, too, and their headers promise requests. What a batch costs is bounded
 *    otherwise: 100 entries take as long as ten single calls (20 ms against 200 ms one after the
 *    other) and as many round trips as one, and its body shares the bytes that its team may send.
 *    It takes the shares of as many transactions as it has entries, so no two large ones of a team
 *    run at once.
 *  * The rows of a batch are written by the statements of a single creation, which share a round
 *    trip. Statements of 20 rows each would save 8 ms of the 20, and be a second way to write the
 *    same. One that takes its rows from a SELECT would lock all shards on Citus.
 *  * An assignment tells whom it was given to. So `member_email` stays when the recipient leaves,
 *    and becomes null when the host application deletes the person, or an invitation ends without
 *    being accepted. Trainings and evaluations of who left are hidden, because they tell how
 *    somebody did.
 *  * When an assignment is deleted, the trainings made for it stay. Their `assignment_id` becomes
 *    null.
 */
import { invalidField, ProblemError } from '../../core/problem.ts';
import type { AssignmentStatus } from '../../core/vocabularies.ts';

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

/** How many assignments one call can create. */
export const BATCH_MAX = 100;

/** The statuses of an assignment that a request can set. */
export const SETTABLE = ['open', 'done'] as const satisfies readonly AssignmentStatus[];

/** Returns the status. Throws `validation_error` (field `status`) unless it can be set. */
export function requireSettableStatus(status: string): (typeof SETTABLE)[number] {
  const settable = SETTABLE.find((one) => one === status);
  if (settable) return settable;
  throw invalidField('status', 'An assignment can be set to open or done.');
}

/** How large an `external_ref` may be: UTF-8 bytes as the service stores it. */
export const EXTERNAL_REF_MAX_BYTES = 4096;
/** How long the id in it may be. An index of Postgres has it. */
export const EXTERNAL_ID_MAX_CHARACTERS = 200;

/** Says why an `external_ref` cannot be stored; null if it can. */
export function faultOfExternalRef(externalRef: object | null | undefined): string | null {
  if (externalRef === undefined || externalRef === null) return null;
  if (Buffer.byteLength(JSON.stringify(externalRef)) > EXTERNAL_REF_MAX_BYTES)
    return `At most ${EXTERNAL_REF_MAX_BYTES} bytes of JSON.`;
  if (!Object.hasOwn(externalRef, 'id')) return null;
  const { id } = externalRef as { readonly id: unknown };
  if (id === null || typeof id === 'number') return null;
  // Postgres counts code points.
  const length = typeof id === 'string' ? Array.from(id).length : 0;
  if (length >= 1 && length <= EXTERNAL_ID_MAX_CHARACTERS) return null;
  return `Its id must be a number, or a text of 1 to ${EXTERNAL_ID_MAX_CHARACTERS} characters.`;
}

/** Throws `validation_error` (field `external_ref`) for one that cannot be stored. */
export function requireStorable(externalRef: object | null | undefined): void {
  const fault = faultOfExternalRef(externalRef);
  if (fault !== null) throw invalidField('external_ref', fault);
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
