/**
 * Decisions about teams, which the host application makes and changes:
 *  * A creation is known by its team id. Repeated with the same input it answers the same and does nothing, however the team has changed since; with another
 *    input, or for a team that came otherwise, it is a `conflict`.
 *  * The owner is the team's first member, active from the start, with the right `schnittstellen` (specification, general rule 4).
 *  * A change names what shall be; what it does not name stays. One that changes nothing is no audit entry. More members than seats are no fault: a team may
 *    go to a smaller plan.
 *  * A suspended or ended team is closed to its keys and admins. The platform's services go on recording what happens in it.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/json.ts';

/** Equal for creations with the same input. */
export function hashCreation(input: object): Buffer {
  return createHash('sha256').update(canonicalJson(input)).digest();
}
