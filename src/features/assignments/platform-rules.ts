/**
 * Decisions about assignments that trainings complete:
 *  * The first evaluation of a training sets its assignment to `done`. So does linking a training
 *    that was scored before. Later saves of an evaluation do not: an assignment that was set back
 *    to `open` stays open until another training is scored for it.
 *  * An assignment that a client set to `done` gets the training if it has none. If another
 *    training completed it, it keeps that one. A `revoked` assignment stays revoked.
 */

/** Whether a scored training completes the assignment, or is added to one that is `done`. */
export function isCompletedByTraining(assignment: {
  readonly status: string;
  readonly completed_training_id: string | null;
}): boolean {
  return (
    assignment.status === 'open' ||
    (assignment.status === 'done' && assignment.completed_training_id === null)
  );
}
