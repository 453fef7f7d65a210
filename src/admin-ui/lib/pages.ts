import { infiniteQueryOptions, keepPreviousData, type QueryKey } from '@tanstack/react-query';

/**
 * Options to read a list page by page. While other filters are asked for, the rows of before stand.
 * tRPC's own options add a field to the input that strict shapes refuse.
 */
export function pagesOptions<Page extends { readonly next_cursor: string | null }>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<Page>,
) {
  return infiniteQueryOptions({
    queryKey: [...queryKey, 'pages'],
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}

/** The parts of an infinite query that `countRows` needs. */
interface RowsLike {
  readonly data: { readonly pages: readonly { readonly data: readonly unknown[] }[] } | undefined;
  readonly isPlaceholderData: boolean;
}

/** How many rows were read; undefined while those that are asked for are still to come. */
export function countRows({ data, isPlaceholderData }: RowsLike): number | undefined {
  return isPlaceholderData ? undefined : data?.pages.flatMap((page) => page.data).length;
}
