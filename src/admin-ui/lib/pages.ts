import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';

/**
 * Options to read a list page by page. tRPC's own options add a field to the input that strict
 * shapes refuse.
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
  });
}
