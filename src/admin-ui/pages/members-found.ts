import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, client } from '../lib/api.ts';
import { readFirst } from '../lib/pages.ts';
import type { Member } from './member-name.ts';

/** What is known while a search has found nobody and goes on. */
export const NOBODY_YET: { readonly data: readonly Member[]; readonly next_cursor: string | null } =
  { data: [], next_cursor: '' };

/** The first few members whose address or id has the text. There is nobody else at its end only. */
export function membersFound(text: string | undefined, limit: number) {
  return queryOptions({
    queryKey: [...api.admin.members.search.queryKey({ text, limit }), 'found'],
    queryFn: ({ signal }) =>
      readFirst(
        // A search that another letter has overtaken is given up.
        (cursor) => client.admin.members.search.query({ text, limit, cursor }, { signal }),
        limit,
        signal,
      ),
    placeholderData: keepPreviousData,
  });
}
