/**
 * Decisions about trainings that the specification leaves open:
 *  * Only trainings of persons who are active members now are shown, in lists and alone: any other is as unknown (decision 13). A person whose new
 *    invitation is still open is not active; somebody who comes back has their trainings back.
 *  * Newest first by creation, which is the beginning of the session; the id breaks ties.
 *  * `since` is `created_at >= since`. `status`, `user_id` and `assignment_id` are equalities; all filters hold together. A value that fits nothing
 *    gives an empty page, so that a filter tells nothing about other teams.
 *  * `status` and `source` are open sets: a filter takes any text.
 */

/** What cursors of the list are issued for: one of `GET /evaluations` is none of `GET /trainings`, though both list trainings. */
export const LIST = 'trainings';
