import type { z } from 'zod';
import { newId } from '../../core/ids.ts';
import { readPage, readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, ProblemError, unknownId } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import { asAuthenticated, readChangeContext } from '../../db/change-context.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { lockRow, type LockedFor } from '../../db/row-lock.ts';
import * as rules from './rules.ts';
import type { listInput } from './schema.ts';
import { searchAssignments, type AssignmentFilters, type FoundAssignment } from './search-store.ts';
import * as store from './store.ts';
import type { AssignmentRow } from './page-store.ts';
import { toAssignmentEvent } from './view.ts';

export { revokeOpenAssignments } from './store.ts';

const LIST = 'assignments';
/** In the order of the last change, so a cursor of one is none of the other. */
const LIST_OF_CHANGED = 'assignments_changed';

type Asked = Exclude<keyof z.output<typeof listInput>, keyof PageQuery>;
/** What a list is asked for. A filter without a condition in the store does not compile. */
export type AssignmentQuery = PageQuery & Pick<AssignmentFilters, Asked>;

/**
 * Any status, newest first; with `updated_since` the one changed last first. With a filter, a page
 * can hold fewer than its limit, or none, although `nextCursor` leads to others. Throws
 * `validation_error` for a foreign cursor.
 */
export async function listAssignments(
  db: Db,
  teamId: string,
  { cursor, limit, updated_since: since, ...filters }: AssignmentQuery,
): Promise<Page<AssignmentRow>> {
  const query = { cursor, limit };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  if (!isFiltered && since === undefined)
    return readPage(LIST, query, (slice) => store.listAssignments(db, teamId, slice));
  const updated_since = since === undefined ? undefined : toInstant(since);
  const list = since === undefined ? LIST : LIST_OF_CHANGED;
  return readPageBy(
    ({ at, id }: FoundAssignment) => ({ at, id }),
    list,
    query,
    (slice) => searchAssignments(db, teamId, slice, { ...filters, updated_since }),
  );
}

/** Throws `not_found`. */
export async function getAssignment(
  db: Db,
  teamId: string,
  assignmentId: string,
): Promise<AssignmentRow> {
  const row = await store.findAssignment(db, teamId, assignmentId);
  if (!row) throw notFound();
  return row;
}

/**
 * Reads the assignment and locks it until the transaction ends. Throws `not_found`.
 */
export async function lockAssignment(
  tx: Tx,
  teamId: string,
  assignmentId: string,
  to: LockedFor,
): Promise<AssignmentRow> {
  lockRow(tx, 'assignment', { teamId, id: assignmentId, to });
  return getAssignment(tx, teamId, assignmentId);
}

/** What the caller says of a new assignment. */
export type NewAssignment = Omit<AssignmentRow, keyof typeof AT_FIRST | FoundColumn> &
  Readonly<Record<`${rules.Dimension}_id`, string>>;

/** The columns whose values the service finds. */
type FoundColumn = 'id' | 'member_user_id' | 'member_email' | 'created_at';

const AT_FIRST = { status: 'open', focus_dimension: null, completed_training_id: null } as const;

/**
 * Opens a transaction. Emits `assignment.created`. Throws `validation_error` (field
 * `external_ref`), `not_found` (recipient), `kombination_ungueltig`, `vorgabe_gesperrt`.
 */
export async function createAssignment(
  db: Db,
  context: ChangeContext,
  wanted: NewAssignment,
): Promise<AssignmentRow> {
  const [created] = await createAssignments(db, context, {
    entries: [wanted],
    check: ([fault]) => {
      if (fault) throw fault;
    },
  });
  if (created === undefined || created instanceof Error)
    throw new Error('an assignment without a fault was not created', { cause: created });
  return created;
}

/** What a batch is to create. */
export interface Batch {
  /** An entry that cannot be an assignment is the error that says why. */
  readonly entries: readonly (NewAssignment | Error)[];
  /**
   * Sees what is wrong with each entry before anything is written; null: nothing. What it throws
   * leaves nothing created.
   */
  readonly check: (faults: readonly (Error | null)[]) => void;
}

/**
 * Creates the entries of a batch that nothing is wrong with, in one transaction, which it opens:
 * each as `createAssignment` does, with an event and an audit entry. Returns for each entry its
 * assignment, or the error for which it was not created.
 *
 * Its events follow the privacy switches as authentication found them. A live team is not locked
 * here, and reading the switches again would cost the most frequent change one more statement.
 */
export async function createAssignments(
  db: Db,
  context: ChangeContext,
  { entries, check }: Batch,
): Promise<(AssignmentRow | Error)[]> {
  return db.transaction(async (tx) => {
    const rows = await prepareRows(tx, context, entries);
    check(rows.map((row) => (row instanceof Error ? row : null)));
    for (const row of rows) {
      if (row instanceof Error) continue;
      store.insertAssignment(tx, context.teamId, row);
      record(tx, asAuthenticated(context), {
        audit: { action: 'assignment.created', targetId: row.id },
        events: [toAssignmentEvent('assignment.created', row)],
      });
    }
    return rows;
  }, entries.length);
}

/** Makes the row of each entry, or the error for which there is none. One round trip. */
async function prepareRows(
  tx: Tx,
  { teamId, at }: ChangeContext,
  entries: Batch['entries'],
): Promise<(AssignmentRow | Error)[]> {
  const checked = entries.map((entry) =>
    entry instanceof Error ? entry : valueOrProblem(() => requireWanted(entry)),
  );
  const asked = checked.flatMap((one) => (one instanceof Error ? [] : [one]));
  const recipients = asked.length === 0 ? [] : await store.readRecipients(tx, teamId, asked);
  const found = recipients.values();
  return checked.map((one) => {
    if (one instanceof Error) return one;
    const recipient = found.next().value ?? null;
    return valueOrProblem(() => toRow(one, recipient, at));
  });
}

interface Wanted extends store.Wanted {
  readonly entry: NewAssignment;
}

/** Throws `validation_error` (field `external_ref`). */
function requireWanted(entry: NewAssignment): Wanted {
  rules.requireStorable(entry.external_ref);
  const { member_id: memberId, situation_id, personality_id, industry_id } = entry;
  const combination = {
    situation: situation_id,
    personality: personality_id,
    industry: industry_id,
  };
  return { entry, memberId, combination };
}

/** Throws `not_found` (field `member_id`), `kombination_ungueltig`, `vorgabe_gesperrt`. */
function toRow(
  { entry, combination }: Wanted,
  recipient: store.Recipient | null,
  at: Date,
): AssignmentRow {
  if (!recipient) throw unknownId('member_id');
  rules.requireAllowed(combination, recipient.facts);
  return {
    ...AT_FIRST,
    ...entry,
    id: newId('assignment'),
    member_user_id: recipient.member.user_id,
    member_email: recipient.member.email,
    created_at: at.toISOString(),
  };
}

/** Returns the problem that a check throws. Throws every other error. */
function valueOrProblem<T>(check: () => T): T | ProblemError {
  try {
    return check();
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}

/** The fields of a PATCH: undefined leaves a value as it is, null clears it. */
export type AssignmentChange = {
  readonly [Column in (typeof store.CHANGEABLE)[number]]?:
    | (Column extends 'status' ? string : AssignmentRow[Column])
    | undefined;
};

/**
 * Opens a transaction. Emits `assignment.completed` when the status becomes `done`. Throws
 * `validation_error` (field `status` or `external_ref`), `not_found`.
 */
export async function updateAssignment(
  db: Db,
  context: ChangeContext,
  assignmentId: string,
  change: AssignmentChange,
): Promise<AssignmentRow> {
  const { teamId } = context;
  if (change.status !== undefined) rules.requireSettableStatus(change.status);
  rules.requireStorable(change.external_ref);
  const named = store.CHANGEABLE.filter((column) => change[column] !== undefined);
  return db.transaction(async (tx) => {
    const [before, current] = await Promise.all([
      lockAssignment(tx, teamId, assignmentId, 'change'),
      readChangeContext(tx, context),
    ]);
    if (named.length === 0) return before;
    const row: AssignmentRow = {
      ...before,
      ...Object.fromEntries(named.map((column) => [column, change[column]])),
    };
    store.updateAssignment(tx, teamId, row);
    const completed = row.status === 'done' && before.status !== 'done';
    record(tx, current, {
      audit: {
        action: 'assignment.updated',
        targetId: assignmentId,
        details: { fields: named, status: row.status },
      },
      events: completed ? [toAssignmentEvent('assignment.completed', row)] : [],
    });
    return row;
  });
}

/** Opens a transaction. Throws `not_found`. */
export async function removeAssignment(
  db: Db,
  context: ChangeContext,
  assignmentId: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const [isRemoved, current] = await Promise.all([
      store.removeAssignment(tx, context.teamId, assignmentId),
      readChangeContext(tx, context),
    ]);
    if (!isRemoved) throw notFound();
    record(tx, current, { audit: { action: 'assignment.deleted', targetId: assignmentId } });
  });
}

/**
 * Makes the assignments of a membership count as changed, because the person or the address that
 * they show has changed. In steps, each a transaction of its own unless `db` is one.
 */
export async function touchAssignments(db: Db, teamId: string, memberId: string): Promise<void> {
  let progress = store.NOTHING_TOUCHED;
  while (progress.size > 0) {
    const before = progress;
    progress = await db.transaction((tx) => store.touchAssignments(tx, teamId, memberId, before));
  }
}
