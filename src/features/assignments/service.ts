import { newId } from '../../core/ids.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound, unknownId } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import * as rules from './rules.ts';
import * as store from './store.ts';
import type { AssignmentRow } from './store.ts';
import { toAssignmentEvent } from './view.ts';

export { revokeOpenAssignments } from './store.ts';

const LIST = 'assignments';

/** Any status, newest first. Throws `validation_error` for a foreign cursor. */
export async function listAssignments(
  db: Db,
  teamId: string,
  query: PageQuery,
): Promise<Page<AssignmentRow>> {
  return readPage(LIST, query, (slice) => store.listAssignments(db, teamId, slice));
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

/** `memberId` is the recipient. `dueDate`: `YYYY-MM-DD`; null: none. */
export interface NewAssignment {
  readonly memberId: string;
  readonly title: string;
  readonly combination: rules.Combination;
  readonly note: string | null;
  readonly dueDate: string | null;
}

/**
 * Opens a transaction. Emits `assignment.created`. Throws `not_found` (recipient),
 * `kombination_ungueltig`, `vorgabe_gesperrt`.
 */
export async function createAssignment(
  db: Db,
  context: ChangeContext,
  wanted: NewAssignment,
): Promise<AssignmentRow> {
  const { teamId, at } = context;
  const { memberId, title, combination, note, dueDate } = wanted;
  return db.transaction(async (tx) => {
    const recipient = await store.readRecipient(tx, teamId, memberId, combination);
    if (!recipient) throw unknownId('member_id');
    rules.requireAllowed(combination, recipient.facts);
    const row: AssignmentRow = {
      id: newId('assignment'),
      status: 'open',
      title,
      situation_id: combination.situation,
      personality_id: combination.personality,
      industry_id: combination.industry,
      member_id: memberId,
      member_user_id: recipient.member.user_id,
      member_email: recipient.member.email,
      note,
      due_date: dueDate,
      focus_dimension: null,
      completed_training_id: null,
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
export interface AssignmentChange {
  readonly status?: string | undefined;
  readonly note?: string | null | undefined;
  readonly due_date?: string | null | undefined;
}

/**
 * Opens a transaction. Emits `assignment.completed` when the status becomes `done`. Throws
 * `validation_error` (field `status`), `not_found`.
 */
export async function updateAssignment(
  db: Db,
  context: ChangeContext,
  assignmentId: string,
  change: AssignmentChange,
): Promise<AssignmentRow> {
  const { teamId } = context;
  const status =
    change.status === undefined ? undefined : rules.requireSettableStatus(change.status);
  return db.transaction(async (tx) => {
    const before = await store.findAssignmentForUpdate(tx, teamId, assignmentId);
    if (!before) throw notFound();
    const named = Object.entries({ status, note: change.note, due_date: change.due_date }).filter(
      ([, value]) => value !== undefined,
    );
    if (named.length === 0) return before;
    const row: AssignmentRow = { ...before, ...Object.fromEntries(named) };
    store.updateAssignment(tx, teamId, row);
    const completed = row.status === 'done' && before.status !== 'done';
    record(tx, context, {
      audit: {
        action: 'assignment.updated',
        targetId: assignmentId,
        details: { fields: named.map(([name]) => name), status: row.status },
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
