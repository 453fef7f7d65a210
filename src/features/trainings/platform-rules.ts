/**
 * Decisions about trainings as the host application records them:
 *  * A training is known by its id. Each of start, end and abort brings its description, so that each may come first, and again, and in any order: the end is
 *    the same. Person and beginning must be the same in all of them, else it is a `conflict`; of the rest what is stored stays, and what is missing is filled
 *    in.
 *  * `scored` stands above `completed`, that above `aborted`, that above `started`; a call never moves a training down. So an end after an abort counts, and an
 *    abort after an end does not.
 *  * The first end gives `finished_at` and `duration_s`, also to a training that is scored already, and raises `training.completed`; a repeated one changes
 *    nothing, whatever it says. A training without `finished_at` has not been ended.
 *  * An aborted training is no ended session: it has no `finished_at`, counts in no figure and raises nothing.
 *  * Trainings are recorded for every person whom the team knows, also after they left: what was begun before is not lost.
 *  * An assignment must be one of the person. One that does not exist is left out: a client may delete it at any moment, and the trainings made for it forget
 *    it then, too.
 */
import { invalidField, ProblemError } from '../../core/problem.ts';
import { FREE_JSON_MAX_BYTES } from '../../core/shapes.ts';

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

/** Where the training stands after the step; `before` itself where nothing changes. null: it is new. */
export function advance<P extends Progress>(before: P | null, step: Step): P | Progress {
  if (step.kind === 'start')
    return before ?? { status: 'started', finished_at: null, duration_s: null };
  if (step.kind === 'abort')
    return before && isClosed(before) ? before : withStatus(before, 'aborted');
  if (before && before.finished_at !== null) return before;
  const status = before?.status === 'scored' ? 'scored' : 'completed';
  return { ...before, status, finished_at: step.finishedAt, duration_s: step.durationS };
}

/** Whether it is a session of the analytics. */
export function isEnded(progress: Progress | null): boolean {
  return progress !== null && (progress.finished_at !== null || progress.status === 'scored');
}

function isClosed({ status, finished_at }: Progress): boolean {
  return (
    finished_at !== null || status === 'aborted' || status === 'completed' || status === 'scored'
  );
}

function withStatus(before: Progress | null, status: string): Progress {
  return { finished_at: null, duration_s: null, ...before, status };
}

interface Identity {
  readonly user_id: string;
  readonly created_at: string;
}

/** Throws `conflict` for a description of another training with the same id. */
export function requireSameTraining(stored: Identity, wanted: Identity): void {
  if (stored.user_id === wanted.user_id && stored.created_at === wanted.created_at) return;
  throw new ProblemError('conflict', {
    detail: 'The training is known with another user_id or created_at.',
  });
}

/** Throws `validation_error` (field `finished_at`). */
export function requireOrder(createdAt: string, step: Step): void {
  if (step.kind === 'end' && step.finishedAt < createdAt)
    throw invalidField('finished_at', 'A training does not end before it began.');
}

/** Throws `validation_error` (field `external_ref`) for JSON of more than 64 KiB. */
export function requireStorable(externalRef: object | null): void {
  if (externalRef === null || Buffer.byteLength(JSON.stringify(externalRef)) <= FREE_JSON_MAX_BYTES)
    return;
  throw invalidField('external_ref', `At most ${FREE_JSON_MAX_BYTES} bytes of JSON.`);
}
