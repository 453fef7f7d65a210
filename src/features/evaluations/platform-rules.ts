/**
 * Decisions about evaluations that the host application saves:
 *  * A training has one evaluation. If several are saved, the one with the latest `saved_at` is
 *    kept, in whatever order they arrive. One that is not later than the stored one changes
 *    nothing. So a repeated save is no change, and of two with the same millisecond the first to
 *    arrive is kept.
 *  * The first save of a training raises `evaluation.completed`, because the evaluation is complete
 *    then. Later saves raise nothing, so a receiver can count trainings by this event. A score that
 *    is corrected later is read with `GET /evaluations?updated_since=`, where its training moves to
 *    the front.
 *  * A save scores the training, even one that is still running or was aborted, because somebody
 *    did judge it. From then on it counts as a session. If its end is recorded later, that still
 *    sets `finished_at` and raises `training.completed`.
 *  * The training must be known. Before the host application has recorded it, the answer is
 *    `not_found`.
 */

/** Whether a new evaluation replaces the stored one. Both times are ISO, UTC, with milliseconds. */
export function isLater(savedAt: string, stored: { readonly saved_at: string } | null): boolean {
  return stored === null || savedAt > stored.saved_at;
}
