/**
 * Decisions about teams, which the host application creates and updates:
 *  * A creation is identified by its team id. Repeated with the same input, it returns the same
 *    result and changes nothing, even if the team has changed since. With other input it throws
 *    `conflict`. So does a creation of a team that was created in another way, for instance from a
 *    seed file.
 *  * The owner is the team's first member, active from the start, with the right `schnittstellen`.
 *  * An update sets the given fields. One that changes nothing writes no audit entry. A team may
 *    have more members than seats, because it may switch to a smaller plan.
 *  * A suspended or ended team is closed to its keys and admins. The host application goes on
 *    recording what happens in it.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/json.ts';

/** Hashes the input, to recognize a repeated creation. */
export function hashCreation(input: object): Buffer {
  return createHash('sha256').update(canonicalJson(input)).digest();
}
