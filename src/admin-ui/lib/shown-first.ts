import type { QueryClient, QueryKey } from '@tanstack/react-query';

/** What was shown before; undefined: nothing. */
interface Shown {
  readonly before: unknown;
}

/** See `optimistic.ts`. `cache`: what is shown. */
export function shownFirst<Data, Input>(
  cache: QueryClient,
  queryKey: QueryKey,
  { change, onUndone }: Shape<Data, Input>,
) {
  return {
    onMutate: async (input: Input): Promise<Shown> => {
      // An answer to an older question would cover the change.
      await cache.cancelQueries({ queryKey });
      const before = cache.getQueryData<Data>(queryKey);
      if (before !== undefined) cache.setQueryData(queryKey, change(before, input));
      return { before };
    },
    onError: (_error: unknown, _input: Input, shown: Shown | undefined) => {
      if (shown?.before !== undefined) cache.setQueryData(queryKey, shown.before);
      onUndone();
    },
    onSettled: () => cache.invalidateQueries({ queryKey }),
  };
}

interface Shape<Data, Input> {
  readonly change: (data: Data, input: Input) => Data;
  readonly onUndone: () => void;
}
