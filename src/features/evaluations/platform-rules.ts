/**
 * Decisions about evaluations as the host application saves them:
 *  * An evaluation is its training's. Of several that are saved the one with the later `saved_at` stands, in whatever order they come; one that is not later
 *    than what stands changes nothing, so a repeated save is no change, and of two made in the same millisecond the first to come stands.
 *  * `evaluation.completed` is raised once a training, by the first save: the training's evaluation is then complete. A receiver counts trainings by it; a score
 *    that is corrected later is read with `GET /evaluations?updated_since=`, where the training comes to the front again.
 *  * A save scores the training, also one that runs or was aborted: somebody did judge it. It counts as a session from then on; its end, if it is recorded
 *    later, still gives `finished_at` and raises `training.completed`.
 *  * The training must be known: `not_found` until its start or its end is recorded.
 */

/** Whether what is saved takes the place of what stands. Both ISO, UTC, milliseconds. */
export function isLater(savedAt: string, standing: { readonly saved_at: string } | null): boolean {
  return standing === null || savedAt > standing.saved_at;
}
