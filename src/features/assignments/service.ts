import { newId } from '../../core/ids.ts';
import { readPage, readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, unknownId } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { lockRow, type LockedFor } from '../../db/row-lock.ts';
import * as rules from './rules.ts';
import { searchAssignments, type AssignmentFilters, type FoundAssignment } from './search-store.ts';
import * as store from './store.ts';
import type { AssignmentRow } from './store.ts';
import { toAssignmentEvent } from './view.ts';

export { revokeOpenAssignments } from './store.ts';

const LIST = 'assignments';
/** In the order of the last change, so a cursor of one is none of the other. */
const LIST_OF_CHANGED = 'assignments_changed';

/** What a list is asked for. */
export interface AssignmentQuery extends PageQuery, AssignmentFilters {
  /** A date-time with an offset. */
  readonly updated_since?: string | undefined;
}

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
export type NewAssignment = Omit<store.AssignmentRow, keyof typeof AT_FIRST | FoundColumn> &
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
  const { teamId, at } = context;
  rules.requireStorable(wanted.external_ref);
  const combination = {
    situation: wanted.situation_id,
    personality: wanted.personality_id,
    industry: wanted.industry_id,
  };
  return db.transaction(async (tx) => {
    const recipient = await store.readRecipient(tx, teamId, wanted.member_id, combination);
    if (!recipient) throw unknownId('member_id');
    rules.requireAllowed(combination, recipient.facts);
    const row: AssignmentRow = {
      ...AT_FIRST,
      ...wanted,
      id: newId('assignment'),
      member_user_id: recipient.member.user_id,
      member_email: recipient.member.email,
      created_at: at.toISOString(),
    };
    store.insertAssignment(tx, teamId, row);
    record(tx, context, {
      audit: { action: 'assignment.created', targetId: row.id },
      events: [toAssignmentEvent('assignment.created', row)],
    });
    return row;
  });
}

/** The fields of a PATCH: undefined leaves a value as it is, null clears it. */
export type AssignmentChange = {
  readonly [Column in (typeof store.CHANGEABLE)[number]]?: AssignmentRow[Column] | undefined;
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
    const before = await store.findAssignmentForUpdate(tx, teamId, assignmentId);
    if (!before) throw notFound();
    if (named.length === 0) return before;
    const row: AssignmentRow = {
      ...before,
      ...Object.fromEntries(named.map((column) => [column, change[column]])),
    };
    store.updateAssignment(tx, teamId, row);
    const completed = row.status === 'done' && before.status !== 'done';
    record(tx, context, {
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
    if (!(await store.removeAssignment(tx, context.teamId, assignmentId))) throw notFound();
    record(tx, context, { audit: { action: 'assignment.deleted', targetId: assignmentId } });
  });
}
