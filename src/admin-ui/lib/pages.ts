import { infiniteQueryOptions, keepPreviousData, type QueryKey } from '@tanstack/react-query';

/** A page of a list. */
interface PageLike {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
  /** Only of a search: the time down to which it has looked, if more is to be looked through. */
  readonly searched_back_to?: string | null;
}

/** How many rows are enough to show. */
const ROWS_ENOUGH = 50;
/** How far a search goes on by itself: so many pages, or for so long. */
const PAGES_AT_ONCE = 10;
const GO_ON_MS = 3_000;
const REFRESH_MS = 20_000;

/**
 * Options to read a list page by page. A search goes on by itself for a while if it finds little,
 * so what is one page here can be several of the service. While other filters are asked for, the
 * rows of before stand. tRPC's own options add a field to the input that strict shapes refuse.
 */
export function pagesOptions<Page extends PageLike>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Page>,
) {
  return infiniteQueryOptions({
    queryKey: [...queryKey, 'pages'],
    queryFn: ({ pageParam, signal }) => readOn(read, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: ({ state }) => (isLong(state.data) ? false : 'always'),
  });
}

/** What was read as one page. `isSearched`: it has looked through more than what it has found. */
type Read<Page> = Page & { readonly isSearched: boolean };

/**
 * Reads the first page of a search, and those that follow while they hold fewer rows than `enough`,
 * for a while. If it has found none, there is none only if `next_cursor` is null.
 */
export function readFirst<Page extends PageLike>(
  read: (cursor: string | undefined) => Promise<Page>,
  enough: number,
  signal: AbortSignal,
): Promise<Page> {
  return readOn(read, undefined, signal, {
    enough,
    isUnfinished: ({ next_cursor: next }) => next !== null,
  });
}

/** Reads a page, and those that follow while they hold little. */
async function readOn<Page extends PageLike>(
  read: (cursor: string | undefined) => Promise<Page>,
  cursor: string | undefined,
  signal: AbortSignal,
  { enough, isUnfinished } = { enough: ROWS_ENOUGH, isUnfinished: hasStopped },
): Promise<Read<Page>> {
  const end = Date.now() + GO_ON_MS;
  let page = await read(cursor);
  const isSearched = isUnfinished(page);
  for (let pages = 1; pages < PAGES_AT_ONCE && isUnfinished(page); pages += 1) {
    if (signal.aborted || Date.now() > end || page.data.length >= enough) break;
    // What was found is not lost if the service is busy now. The page says how far it has looked,
    // and the reader can go on from there, which fails if it must.
    const next = await read(page.next_cursor ?? undefined).catch(() => null);
    if (next === null) break;
    page = { ...next, data: [...page.data, ...next.data] };
  }
  return { ...page, isSearched };
}

/** Whether a page of a search ended before it was full. */
function hasStopped({ searched_back_to: reached }: PageLike): boolean {
  return typeof reached === 'string';
}

interface PagesLike {
  readonly pages: readonly Read<PageLike>[];
}

/** Whether a search has looked through more than what it has found. */
export function wasSearched(read: PagesLike | undefined): boolean {
  return read?.pages.some(({ isSearched }) => isSearched) ?? false;
}

/**
 * Whether it would take many calls to read a list again: each page that was loaded, and all that
 * was looked through. That is done only when the reader asks for it.
 */
function isLong(read: PagesLike | undefined): boolean {
  return wasSearched(read) || (read?.pages.length ?? 0) > 1;
}

/** When a list that changes is read again by itself: a long one is not. */
export function refreshesMs(read: PagesLike | undefined, everyMs = REFRESH_MS): number | false {
  return isLong(read) ? false : everyMs;
}

/** The time down to which a search has looked; null if it has found a full page, or has ended. */
export function searchedBackTo(read: PagesLike | undefined): string | null {
  return read?.pages.at(-1)?.searched_back_to ?? null;
}

/** The parts of an infinite query that `countRows` needs. */
interface RowsLike {
  readonly data: PagesLike | undefined;
  readonly isPlaceholderData: boolean;
}

/** How many rows were read; undefined while those that are asked for are still to come. */
export function countRows({ data, isPlaceholderData }: RowsLike): number | undefined {
  return isPlaceholderData ? undefined : data?.pages.flatMap((page) => page.data).length;
}
