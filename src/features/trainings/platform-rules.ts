/**
 * Decisions about trainings that the host application records:
 *  * A training is identified by its id. Start, end and abort each bring its full description. So
 *    each may come first, repeatedly and in any order, and the result is the same. Person and
 *    beginning must be the same in all of them, otherwise it is a `conflict`. Of the other fields,
 *    stored values stay and missing ones are filled in.
 *  * The statuses rank `scored`, `completed`, `aborted`, `started`, highest first. A call never
 *    moves a training to a lower one. So an end after an abort counts, and an abort after an end
 *    does not.
 *  * The first end sets `finished_at` and `duration_s`, even of a training that is scored already,
 *    and raises `training.completed`. A repeated end changes nothing, whatever it contains. A
 *    training without `finished_at` has not ended.
 *  * An aborted training is not an ended session. It has no `finished_at`, counts in no figure and
 *    raises no event.
 *  * Trainings are recorded for every person whom the team knows, even after they left. What was
 *    begun before is not lost.
 *  * An assignment must be one of the person's. An assignment that does not exist is left out,
 *    because a client may delete it at any moment. Trainings lose the reference to a deleted
 *    assignment, too.
 */
import { invalidField, ProblemError } from '../../core/problem.ts';
import type { TrainingStatus } from '../../core/vocabularies.ts';

/** What the host application reports about a training. Times are ISO, UTC, with milliseconds. */
export type Step =
  | { readonly kind: 'start' }
  | { readonly kind: 'abort' }
  | ({ readonly kind: 'end' } & End);

interface End {
  readonly finishedAt: string;
  readonly durationS: number | null;
}

/** How far a training has come. */
export interface Progress {
  readonly status: string;
  readonly finished_at: string | null;
  readonly duration_s: number | null;
}

/**
 * Returns the progress after the step: `before` itself if nothing changes. `before` is null for a
 * new training.
 */
export function advance<P extends Progress>(before: P | null, step: Step): P | Progress {
  if (step.kind === 'start')
    return before ?? { status: 'started', finished_at: null, duration_s: null };
  if (step.kind === 'abort')
    return before && isClosed(before) ? before : withStatus(before, 'aborted');
  if (before && before.finished_at !== null) return before;
  const status: TrainingStatus = before?.status === 'scored' ? 'scored' : 'completed';
  return { ...before, status, finished_at: step.finishedAt, duration_s: step.durationS };
}

/** Whether the training counts as a session in the analytics. */
export function isEnded(progress: Progress | null): boolean {
  return progress !== null && (progress.finished_at !== null || progress.status === 'scored');
}

function isClosed({ status, finished_at }: Progress): boolean {
  return (
    finished_at !== null || status === 'aborted' || status === 'completed' || status === 'scored'
  );
}

function withStatus(before: Progress | null, status: TrainingStatus): Progress {
  return { finished_at: null, duration_s: null, ...before, status };
}

interface Identity {
  readonly user_id: string;
  readonly created_at: string;
}

/** Throws `conflict` if another training is stored under the same id. */
export function requireSameTraining(stored: Identity, wanted: Identity): void {
  if (stored.user_id === wanted.user_id && stored.created_at === wanted.created_at) return;
  throw new ProblemError('conflict', {
    detail: 'The training is known with another user_id or created_at.',
  });
}

/** Throws `validation_error` (field `finished_at`) for an end before the beginning. */
export function requireOrder(createdAt: string, step: Step): void {
  if (step.kind === 'end' && step.finishedAt < createdAt)
    throw invalidField('finished_at', 'A training cannot end before it began.');
}
