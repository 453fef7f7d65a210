// Pieces of SQL for lists whose pages end when their rows are too large together.
import { PAGE_MAX_BYTES } from '../core/page.ts';
import { newestFirst, type Keyset } from './keyset.ts';

/** A query that reads a page of a list. */
export interface PageText {
  readonly columns: string;
  /**
   * SQL: reads the columns, those of the order, and `bytes`: the size of what customers fill. Use
   * sizes that Postgres knows without reading the value. Then it reads only what fits.
   */
  readonly rows: string;
  readonly order: Keyset;
}

/** SQL: the rows up to the first one that does not fit on the page, each as a `MeasuredRow`. */
export function thatFit({ columns, rows, order }: PageText): string {
  const size = `least(bytes, ${PAGE_MAX_BYTES})`;
  return `select ${columns}, total <= ${PAGE_MAX_BYTES} as fits
   from (
     select *, sum(${size}) over (${newestFirst(order)} rows unbounded preceding) as total
     from (
       ${rows}
     ) page
   ) measured
   where total - ${size} <= ${PAGE_MAX_BYTES}
   ${newestFirst(order)}`;
}

/** SQL: how many bytes the values have. Not for JSON: Postgres would have to read it. */
export function bytesOf(...columns: readonly string[]): string {
  return columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
}
