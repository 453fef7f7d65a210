/**
 * Decisions about cases that the host application writes. Those of `rules.ts` hold, too:
 *  * The case id identifies a creation. If it is repeated with the same values, the response is the
 *    same. If the id exists with other values, that is a `conflict`.
 *  * The host application sees private cases. It can make a case private, or a case of the team.
 *  * Updating or removing a case that does not exist is `not_found`, as in the API. A client that
 *    repeats a removal may treat that as success.
 */
import { canonicalJson } from '../../core/json.ts';

/** Whether two cases have the same values. `created_at` is not compared. */
export function isSameCase(a: object, b: object): boolean {
  return canonicalJson({ ...a, created_at: null }) === canonicalJson({ ...b, created_at: null });
}
