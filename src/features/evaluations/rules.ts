/**
 * Decisions about evaluations that the specification leaves open:
 *  * `GET /evaluations` lists *trainings* that have an evaluation. The training whose evaluation
 *    was saved last comes first; the training's id breaks ties. When an evaluation is saved again,
 *    its training moves to the front. A client that pages at that moment may get it twice, but
 *    never misses it.
 *  * `updated_since` means "saved at or after". Together with the order, a client that remembers
 *    when it last asked reads only what is new.
 *  * An evaluation exists once the training is scored. Until then the answer is `not_found`. The
 *    answer is the same for an unknown training, and for a training of a person who is not an
 *    active member now.
 *  * `dimensions` holds only the dimensions that were scored. A dimension without a value is left
 *    out instead of being null.
 */

/** The list that its cursors are valid for. */
export const LIST = 'evaluations';
