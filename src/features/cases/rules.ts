/**
 * Decisions about cases that the specification leaves open:
 *  * The API treats a private case as if it did not exist: reading or changing it is `not_found`,
 *    and it is in no list.
 *  * A case is created for a person who is an active member. Later changes do not check this again:
 *    the cases of a removed member stay.
 *  * `fields` and `external_ref` are free-form JSON of at most 64 KiB each: UTF-8 bytes as the
 *    service stores them, without white space. They are returned as they were sent, with the same
 *    order of keys, and with numbers as 64-bit floats. Keys that are integers come first, as
 *    always in JavaScript; JSON gives no meaning to the order. What could not be returned the same
 *    is refused while parsing (core/json.ts, http/request-body.ts): a number that a 64-bit float
 *    cannot hold, and the key `__proto__`.
 *  * A creation takes `fields` as an object, as the specification says. A change also takes an
 *    array, because stored cases can have one: what was read can be written back.
 *  * null clears `title`, `persona_id`, `fields` and `external_ref`. In a creation it is the same
 *    as leaving the field out.
 *  * An empty PATCH changes nothing and adds no audit entry.
 *  * `user_id` is in every response, also while `member_detail_enabled` is off. The specification
 *    requires the field, and the client that creates or changes the case has named it. What the
 *    switch forbids is reading cases. So the audit log does not say then whose case was created,
 *    and never does of a case that was created meanwhile.
 */
import { checkAll } from '../../core/problem.ts';
import { requireFreeJson } from '../../core/shapes.ts';

/** The free-form fields of a request; undefined and null have no size. */
export interface FreeJson {
  readonly fields?: object | null | undefined;
  readonly external_ref?: object | null | undefined;
}

/** Throws `validation_error` (field `fields` or `external_ref`) for JSON of more than 64 KiB. */
export function requireStorable({ fields, external_ref }: FreeJson): void {
  checkAll(
    () => requireFreeJson('fields', fields),
    () => requireFreeJson('external_ref', external_ref),
  );
}
