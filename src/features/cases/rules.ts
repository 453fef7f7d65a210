/**
 * Decisions about cases that the specification leaves open:
 *  * A private case answers `not_found` everywhere and is in no list: to the API it does not exist.
 *  * A case is made for an active member's person. What it is given later (title, fields …) does not ask again: the cases of a removed member stay.
 *  * `fields` and `external_ref` are free-form JSON of at most 64 KiB each, counted in UTF-8 as the service stores it, without white space. They come
 *    back as they were sent: key order, and numbers as JSON numbers (64-bit floats). What could not come back the same is refused while parsing
 *    (core/json.ts, http/request-body.ts): a number that a 64-bit float cannot hold, a key `__proto__`. Keys that are integers come first, as
 *    everywhere in JavaScript; JSON gives order no meaning.
 *  * Creation takes `fields` as an object, as the specification says; a change takes whatever a case can show, so what was read can be written back.
 *  * null clears `title`, `persona_id`, `fields` and `external_ref`; at creation it is the same as leaving them out.
 *  * An empty PATCH changes nothing, and is no audit entry.
 *  * `user_id` is shown in every response, also while `member_detail_enabled` is off: the specification requires it, and who creates or changes a case
 *    has named it. Reading cases is what the switch forbids.
 */
import { invalidField } from '../../core/problem.ts';
import { FREE_JSON_MAX_BYTES } from '../../core/shapes.ts';

/** What a request brings for the free-form fields; undefined and null have no size. */
export interface FreeJson {
  readonly fields?: object | null | undefined;
  readonly external_ref?: object | null | undefined;
}

/** Throws `validation_error` (field `fields` or `external_ref`) for JSON of more than 64 KiB. */
export function requireStorable({ fields, external_ref }: FreeJson): void {
  requireSize('fields', fields);
  requireSize('external_ref', external_ref);
}

function requireSize(field: string, value: object | null | undefined): void {
  if (
    value === undefined ||
    value === null ||
    Buffer.byteLength(JSON.stringify(value)) <= FREE_JSON_MAX_BYTES
  )
    return;
  throw invalidField(field, `At most ${FREE_JSON_MAX_BYTES} bytes of JSON.`);
}
