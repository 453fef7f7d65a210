/**
 * Decisions about cases as the host application makes them; those of the API hold too (`rules.ts`):
 *  * A creation is known by its case id. Repeated with the same values it answers the same; an id that has other values is a `conflict`.
 *  * The host application sees private cases, and may make a case private or the team's.
 *  * Updating or removing a case that is not there is `not_found`, as in the API: whoever repeats a removal may take that as done.
 */
import { canonicalJson } from '../../core/json.ts';

/** Whether two cases hold the same values, whenever they were made. */
export function isSameCase(a: object, b: object): boolean {
  return canonicalJson({ ...a, created_at: null }) === canonicalJson({ ...b, created_at: null });
}
