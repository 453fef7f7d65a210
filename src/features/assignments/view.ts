import type { z } from 'zod';
import type { NewEvent } from '../../core/events.ts';
import type { assignment } from './schema.ts';
import type { AssignmentRow } from './page-store.ts';

/** Fields in the specification's order. */
export function toAssignment(row: AssignmentRow): z.input<typeof assignment> {
  return {
    id: row.id,
    status: row.status,
    title: row.title,
    situation_id: row.situation_id,
    personality_id: row.personality_id,
    industry_id: row.industry_id,
    member_user_id: row.member_user_id,
    member_email: row.member_email,
    note: row.note,
    due_date: row.due_date,
    focus_dimension: row.focus_dimension,
    completed_training_id: row.completed_training_id,
    created_at: row.created_at,
    external_ref: row.external_ref,
  };
}

/** The event with the assignment as it is now. */
export function toAssignmentEvent(
  type: 'assignment.created' | 'assignment.completed',
  row: AssignmentRow,
): NewEvent {
  const { id, status, title, member_id, member_user_id, due_date, completed_training_id } = row;
  return {
    type,
    data: {
      assignment_id: id,
      status,
      title,
      member_id,
      user_id: member_user_id,
      due_date,
      completed_training_id,
    },
  };
}
