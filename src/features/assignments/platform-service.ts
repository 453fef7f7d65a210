import type { NewEvent } from '../../core/events.ts';
import type { Tx } from '../../db/client.ts';
import { isCompletedByTraining } from './platform-rules.ts';
import * as store from './platform-store.ts';
import type { AssignmentRow } from './page-store.ts';
import { toAssignmentEvent } from './view.ts';

export { lockAssignments } from './platform-store.ts';
export type { AssignmentRow } from './page-store.ts';

/**
 * Marks a locked assignment as done by the scored training, unless it was revoked or completed by
 * another one. Does not wait for the database. Returns the event for the caller to record;
 * `core/events.ts` decides whether an action of the host application emits it.
 */
export function completeAssignment(
  tx: Tx,
  teamId: string,
  assignment: AssignmentRow,
  trainingId: string,
): NewEvent[] {
  if (!isCompletedByTraining(assignment)) return [];
  store.completeAssignment(tx, teamId, assignment.id, trainingId);
  if (assignment.status === 'done') return [];
  return [
    toAssignmentEvent('assignment.completed', {
      ...assignment,
      status: 'done',
      completed_training_id: trainingId,
    }),
  ];
}
