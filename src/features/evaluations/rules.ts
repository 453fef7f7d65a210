/**
 * Decisions about evaluations that the specification leaves open:
 *  * `GET /evaluations` lists *trainings* that have an evaluation. The training whose evaluation
 *    was stored here last comes first; the training's id breaks ties. The time of storage is the
 *    database's and not the host application's `saved_at`: an evaluation may arrive late, and a
 *    client that polls must not miss it. A seeded evaluation counts as stored at its `saved_at`.
 *  * When an evaluation is saved again, or the host application adds to its training, for instance
 *    its end, the training moves to the front. A client that pages at that moment may get it twice,
 *    or not at all, if it has not reached it yet: then its next poll returns it. Who reads
 *    everything once reads `GET /trainings?status=scored` instead, whose order never changes.
 *  * `updated_since` means "stored at or after". Together with the order, a client that remembers
 *    when it last asked reads only what is new.
 *  * An evaluation can be seen when its transaction has committed, which is milliseconds after the
 *    time of storage and never more than seconds. A poll between the two does not show it. So polls
 *    overlap, as `core/polling.ts` says. Times that grow in the order of the commits would need a
 *    lock that all saves of a team share.
 *  * If a former member becomes active again, their evaluations are listed again, in their old
 *    places. No event tells of it, because `member.joined` comes with the invitation, and
 *    `updated_since` does not return what was stored before. So a client that keeps a copy first
 *    reads the active members, and then the trainings behind each membership that is new: somebody
 *    may leave and come back between two polls.
 *  * An evaluation exists once the training is scored. Until then the answer is `not_found`. The
 *    answer is the same for an unknown training, and for a training of a person who is not an
 *    active member now.
 *  * The list holds trainings already, so what saves a call for each of them is
 *    `include=evaluation`, and there is no `include=training`.
 *  * `dimensions` holds only the dimensions that were scored. A dimension without a value is left
 *    out instead of being null.
 */

/** The list that its cursors are valid for. */
export const LIST = 'evaluations';
