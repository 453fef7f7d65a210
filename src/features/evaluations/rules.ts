/**
 * Decisions about evaluations that the specification leaves open:
 *  * `GET /evaluations` lists *trainings* that have an evaluation, the one whose evaluation was saved last first; the training's id breaks ties.
 *    An evaluation that is saved anew moves its training to the front: it may then come twice to somebody who pages, never not at all.
 *  * `updated_since` is "saved at or after"; together with the order, a client that remembers when it last asked reads only what is new.
 *  * An evaluation exists once the training is scored. Until then, for an unknown training, and for that of a person who is no active
 *    member now, the answer is one and the same 404 (decision 13).
 *  * `dimensions` holds those that were scored; a dimension without a value is left out, not null.
 */

/** What cursors of the list are issued for. */
export const LIST = 'evaluations';
