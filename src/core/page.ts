import { z } from 'zod';
import { invalidField } from './problem.ts';
import { dateTime } from './shapes.ts';

export const PAGE_LIMIT_DEFAULT = 50;
export const PAGE_LIMIT_MAX = 200;

/**
 * How large the rows of a page may be together, as they are stored. A page of larger ones ends
 * early; a single row always fits.
 */
export const PAGE_MAX_BYTES = 256 * 1024;

/** That of an id of 200 characters of 4 bytes, in base64, with the list and the time. */
const CURSOR_MAX_CHARACTERS = 1_200;

/** The query parameters of every paged list. */
export const pageQuery = {
  cursor: z.string().min(1).max(CURSOR_MAX_CHARACTERS).optional().meta({
    description: '`next_cursor` of the page before, unchanged. Leave it out for the first page.',
  }),
  limit: z
    .int()
    .min(1)
    .max(PAGE_LIMIT_MAX)
    .default(PAGE_LIMIT_DEFAULT)
    .meta({
      description: `How many entries a page holds at most, 1 to ${PAGE_LIMIT_MAX}.`,
      examples: [PAGE_LIMIT_DEFAULT],
    }),
};

/** The response schema of a paged list. */
export function pageOf<T extends z.ZodType>(item: T) {
  return z
    .object({
      data: z.array(item).meta({ description: 'The entries of the page.' }),
      next_cursor: z
        .string()
        .nullable()
        .meta({
          description:
            'Pass it as `cursor` for the page that follows; null on the last page. ' +
            'A page before the last one can hold fewer entries than `limit`.',
        }),
    })
    .meta({ description: 'A page of a list.' });
}

/** The response schema of a search by time, whose pages can end before they are full. */
export function searchPageOf<T extends z.ZodType>(item: T) {
  return pageOf(item).extend({
    searched_back_to: dateTime.nullable().meta({
      description:
        'The time down to which the page has looked, if it ended there before it was full; else ' +
        'null. `next_cursor` looks further.',
    }),
  });
}

/** A position in a list: the sort time (ISO, UTC, milliseconds) and the id that breaks ties. */
export interface PagePosition {
  readonly at: string;
  readonly id: string;
}

export interface Page<T> {
  readonly rows: T[];
  readonly nextCursor: string | null;
  /** See {@link searchPageOf}. Only of a search. */
  readonly searchedBackTo?: string | null;
}

/** The part of a query that every paged list has; see {@link pageQuery}. */
export interface PageQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** What a store reads for a page. */
export interface PageSlice {
  /** One more than the page holds: the extra row shows that another page follows. */
  readonly limit: number;
  readonly after: PagePosition | null;
}

/**
 * Limits the slice to what comes before a time (ISO, UTC, milliseconds). That is where a list by
 * time starts, so it needs no condition. Every id follows the empty one.
 */
export function startBefore(until: string | null, slice: PageSlice): PageSlice {
  if (until === null || (slice.after && slice.after.at < until)) return slice;
  return { ...slice, after: { at: until, id: '' } };
}

/** A row of a list that measures its rows. */
export interface MeasuredRow {
  /** False if the rows up to this one, and with it, are too large for one page. */
  readonly fits: boolean;
}

/** What a search has found that reads only so many rows for a page. */
export interface SearchResult<T> {
  readonly rows: T[];
  /** The position up to which it has read; null if it has read all. */
  readonly reached: PagePosition | null;
}

type Read<T> = (slice: PageSlice) => Promise<T[] | SearchResult<T>>;

/**
 * Reads a page of a list by (created_at, id). Its cursors call the list `list`. A page can hold
 * fewer rows than its limit although another one follows: rows of a `MeasuredRow` that do not fit,
 * and whatever lies behind the end of a `SearchResult`, come on the next page. Throws
 * `validation_error` for a cursor of another list.
 */
export function readPage<T extends { readonly created_at: string; readonly id: string }>(
  list: string,
  query: PageQuery,
  read: Read<T>,
): Promise<Page<T>> {
  return readPageBy((row: T) => ({ at: row.created_at, id: row.id }), list, query, read);
}

/** Like {@link readPage}, for a list in another order. */
export async function readPageBy<T extends object>(
  positionOf: (row: T) => PagePosition,
  list: string,
  { cursor, limit }: PageQuery,
  read: Read<T>,
): Promise<Page<T>> {
  const found = await read({ limit: limit + 1, after: parseCursor(list, cursor) });
  if (Array.isArray(found)) return toPage(list, found, limit, positionOf);
  const page = toPage(list, found.rows, limit, positionOf);
  if (page.nextCursor !== null || found.reached === null) return page;
  const nextCursor = formatCursor(list, found.reached);
  return { rows: page.rows, nextCursor, searchedBackTo: found.reached.at };
}

/** Makes the response for a page; its shape is {@link pageOf}. */
export function pageResponse<T, Item>(
  { rows, nextCursor }: Page<T>,
  toItem: (row: T) => Item,
): { data: Item[]; next_cursor: string | null } {
  return { data: rows.map((row) => toItem(row)), next_cursor: nextCursor };
}

/** Makes the response for a page of a search; its shape is {@link searchPageOf}. */
export function searchResponse<T, Item>(
  page: Page<T>,
  toItem: (row: T) => Item,
): { data: Item[]; next_cursor: string | null; searched_back_to: string | null } {
  return { ...pageResponse(page, toItem), searched_back_to: page.searchedBackTo ?? null };
}

const CURSOR_FORM = /^([a-z_]+)\|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|(.+)$/s;

/**
 * Reads a cursor. Returns null without a cursor, for the first page. A cursor names its list, and a
 * cursor that the list did not issue throws `validation_error`. The cursor is the position of the
 * last row (keyset pagination): rows that are added or removed meanwhile do not make a page repeat
 * or skip other rows.
 */
export function parseCursor(list: string, cursor: string | undefined): PagePosition | null {
  if (cursor === undefined) return null;
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, name, at, id] = CURSOR_FORM.exec(text) ?? [];
  const position = at && id && isInstant(at) ? { at, id } : null;
  if (position && name === list && !id?.includes('\0') && formatCursor(list, position) === cursor)
    return position;
  throw invalidField('cursor', 'This list did not issue the cursor.', 'invalid_cursor');
}

/**
 * Makes a page of at most `limit` rows that fit on it. Read `limit + 1` rows for it: a row that is
 * left shows that another page follows. Shortens `rows` in place.
 */
export function toPage<T extends object>(
  list: string,
  rows: T[],
  limit: number,
  positionOf: (row: T) => PagePosition,
): Page<T> {
  const tooMuch = rows.findIndex((row) => 'fits' in row && row.fits === false);
  const length = tooMuch === -1 ? limit : Math.min(limit, tooMuch);
  if (rows.length <= length) return { rows, nextCursor: null };
  rows.length = length;
  const last = rows[length - 1];
  return { rows, nextCursor: last === undefined ? null : formatCursor(list, positionOf(last)) };
}

/** Unlike Date.parse, Postgres refuses days that do not exist (30 February) and the year 0. */
function isInstant(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text && !text.startsWith('0000');
}

function formatCursor(list: string, position: PagePosition): string {
  return Buffer.from(`${list}|${position.at}|${position.id}`).toString('base64url');
}
