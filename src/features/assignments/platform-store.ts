import { statement, type Tx } from '../../db/client.ts';
import { ASSIGNMENT_COLUMNS, type AssignmentRow } from './page-store.ts';

const OF_TRAINING = `a.team_id = $1
     and a.id in (
       (
         select assignment_id
         from training
         where team_id = $1 and id = $2
       ),
       $3
     )
   order by a.id`;

const LOCK = statement(
  'assignments.lockOfTraining',
  `select
   from assignment a
   where ${OF_TRAINING}
   for no key update`,
);

// A statement of its own: the one that waits for the lock sees the members from before.
const FIND = statement<AssignmentRow>(
  'assignments.findOfTraining',
  `select ${ASSIGNMENT_COLUMNS}
   from assignment a
   join member m on m.team_id = a.team_id and m.id = a.member_id
   where ${OF_TRAINING}`,
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
  const values = [teamId, trainingId, assignmentId];
  tx.send(LOCK, values);
  return tx.query(FIND, values);
}

/** Sets the status `done` and the training that completed the assignment. */
export const completeAssignment = statement(
  'assignments.complete',
  `update assignment
   set status = 'done', completed_training_id = $3, updated_at = statement_timestamp()
   where team_id = $1 and id = $2`,
).sends<[tx: Tx, teamId: string, assignmentId: string, trainingId: string]>();
