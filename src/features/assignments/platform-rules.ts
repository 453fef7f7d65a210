/**
 * Decisions about assignments that trainings complete:
 *  * A training's first evaluation makes its assignment `done`; so does the link, where the training is scored before it is linked. A later save does not: an
 *    assignment that was set back to `open` stays open until another training is scored for it.
 *  * One that a client set to `done` gets the training, if it has none. One that another training completed keeps that; a `revoked` one stays revoked.
 */
export function isCompletedByTraining(assignment: {
  readonly status: string;
  readonly completed_training_id: string | null;
}): boolean {
  return (
    assignment.status === 'open' ||
    (assignment.status === 'done' && assignment.completed_training_id === null)
  );
}
