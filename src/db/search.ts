// Lists with filters that may read only so many rows for a page. Their statements have the same
// first parameters: $1 the team, $2 the limit, $3 and $4 the position, $5 where the time begins.
// The values of the filters follow from $6 on. The end of the time is a position, and no condition:
// Postgres begins a range at the position, and would pass all entries of the index up to the end.
import { startBefore, type PageSlice, type SearchResult } from '../core/page.ts';
import type { Db } from './client.ts';
import { BY_CREATION, isAfter, positionValues } from './keyset.ts';
import type { Filtered } from './statement.ts';

/** Which time a search covers, as ISO text. Left out: without that bound. */
export interface TimeRange {
  /** Inclusive. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
}

/** SQL: the row does not lie before the time. */
export const SINCE = `created_at >= coalesce($5::timestamptz, '-infinity')`;

/** SQL: the row follows the position and lies in the time. */
export const IN_TIME = `${isAfter(BY_CREATION, ['$3', '$4'])}
             and ${SINCE}`;

/** The number of the first parameter that holds the value of a filter. */
export const FIRST_FILTER = 6;

/**
 * A row with how far the search has read; null if it has read all. If nothing was found, one row
 * without values tells it.
 */
export type FoundRow<Row> = (Row | { readonly [name in keyof Row]: null }) & {
  readonly reached_at: string | null;
  readonly reached_id: string | null;
};

/**
 * Reads a page. It can hold fewer rows than the limit although more follow: then the result says
 * how far the search has read. With `until`, the list must be by creation.
 */
export async function search<Row extends { readonly id: string }>(
  db: Db,
  teamId: string,
  slice: PageSlice,
  { list, values, since, until }: Filtered<FoundRow<Row>> & TimeRange,
): Promise<SearchResult<Row>> {
  const { limit, after } = startBefore(until ?? null, slice);
  const position = positionValues(after);
  return resultOf(await db.query(list, [teamId, limit, ...position, since ?? null, ...values]));
}

/** The rows that were found, and how far the search has read. */
export function resultOf<Row extends { readonly id: string }>(
  rows: readonly FoundRow<Row>[],
): SearchResult<Row> {
  const { reached_at: at = null, reached_id: id = null } = rows[0] ?? {};
  return {
    rows: rows.filter((row): row is FoundRow<Row> & Row => row.id !== null),
    reached: at === null || id === null ? null : { at, id },
  };
}
