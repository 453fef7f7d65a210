/**
 * Decisions about trainings that the specification leaves open:
 *  * Only trainings of people who are active members now are shown, in lists and individually. Any
 *    other training is `not_found`, like an unknown one. A person with an open new invitation is
 *    not active. If a former member becomes active again, their trainings are shown again.
 *  * The newest training comes first, by its creation time, which is the beginning of the session.
 *    The id breaks ties.
 *  * `since` means `created_at >= since`, `until` means `created_at < until`. `status`, `user_id`
 *    and `assignment_id` are equalities. All filters must match. A value that matches nothing gives
 *    an empty page, so a filter reveals nothing about other teams.
 *  * The host application can report trainings for an assignment by one person only. A seed file
 *    may contain trainings by several people: the list then shows those of active members, or
 *    nothing if the person of the newest one is not an active member.
 *  * So `since` is about when a session began, not about when the host application reported it. A
 *    client that must not miss one that is reported late uses the webhook `training.completed`, or
 *    `updated_since` of `GET /evaluations`.
 *  * `include=evaluation` adds what `GET /trainings/{training_id}/evaluation` shows, and null where
 *    that is 404 because nothing is scored yet. It needs the scope of that read, too. While member
 *    details are off, the list is refused as that read is, with or without `include`.
 *  * A page with evaluations ends by the bytes of both. An evaluation is measured as the JSON that
 *    Postgres sends, whose size no column has to keep.
 *  * `status` and `source` are open sets, so a filter takes any text.
 */

/**
 * The list that its cursors are valid for. A cursor of `GET /evaluations` is not valid for `GET
 * /trainings`, although both list trainings.
 */
export const LIST = 'trainings';
