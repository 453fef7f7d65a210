// Pieces of SQL for lists that are read page by page, newest first. A page starts after a position
// (keyset pagination), so rows that are added or removed never make it repeat or skip a row.
import type { PagePosition } from '../core/page.ts';

/** The columns of the order: a time, and an id that breaks ties. An index must have this order. */
export type Keyset = readonly [at: string, id: string];

/** A parameter as SQL writes it. */
export type Parameter = `$${number}`;

export const BY_CREATION: Keyset = ['created_at', 'id'];

/**
 * The condition that a row follows the position in `parameters`, whose values are those of
 * `positionValues`. It is one comparison of rows, so that an index serves it as one range. The time
 * may be null, which makes the first page use the same plan.
 */
export function isAfter(
  [at, id]: Keyset,
  parameters: readonly [at: Parameter, id: Parameter],
): string {
  return `(${at}, ${id}) < (coalesce(${parameters[0]}::timestamptz, 'infinity'), ${parameters[1]})`;
}

/** The order, and the limit if there is one. A number stands in the text as a constant. */
export function newestFirst([at, id]: Keyset, limit?: Parameter | number): string {
  const order = `order by ${at} desc, ${id} desc`;
  return limit === undefined ? order : `${order} limit ${limit}`;
}

/** The two values for `isAfter`. null: the list from its beginning. */
export function positionValues(after: PagePosition | null): [at: string | null, id: string] {
  return [after?.at ?? null, after?.id ?? ''];
}
