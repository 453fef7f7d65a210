import { statement, type Tx } from '../../db/client.ts';
import { ASSIGNMENT_COLUMNS, type AssignmentRow } from './page-store.ts';

const LOCK = statement<AssignmentRow>(
  'assignments.lockOfTraining',
  `select ${ASSIGNMENT_COLUMNS}
   from assignment a
   join member m on m.team_id = a.team_id and m.id = a.member_id
   where a.team_id = $1
     and a.id in (
       (
         select assignment_id
         from training
         where team_id = $1 and id = $2
       ),
       $3
     )
   order by a.id
   for no key update of a`,
);

/**
 * Returns the training's assignment and the one with `assignmentId`, as far as they exist. Locks
 * them until the transaction ends, by id, so that two calls do not deadlock.
 */
export function lockAssignments(
  tx: Tx,
  teamId: string,
  trainingId: string,
  assignmentId: string | null,
): Promise<AssignmentRow[]> {
  return tx.query(LOCK, [teamId, trainingId, assignmentId]);
}

const COMPLETE = statement(
  'assignments.complete',
  `update assignment
   set status = 'done', completed_training_id = $3, updated_at = statement_timestamp()
   where team_id = $1 and id = $2`,
);

/** Sets the status `done` and the training that completed the assignment. */
export function completeAssignment(
  tx: Tx,
  teamId: string,
  assignmentId: string,
  trainingId: string,
): void {
  tx.send(COMPLETE, [teamId, assignmentId, trainingId]);
}
