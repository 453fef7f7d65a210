import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { problemOf } from './problem.ts';

/** What was shown before; undefined: nothing. */
interface Shown {
  readonly before: unknown;
}

/** See `optimistic.ts`. `cache`: what is shown. */
export function shownFirst<Data, Input>(
  cache: QueryClient,
  { keyOf, change, onUndone }: Shape<Data, Input>,
) {
  return {
    onMutate: async (input: Input): Promise<Shown> => {
      const queryKey = keyOf(input);
      // An answer to an older question would cover the change.
      await cache.cancelQueries({ queryKey });
      const before = cache.getQueryData<Data>(queryKey);
      if (before !== undefined) cache.setQueryData(queryKey, change(before, input));
      return { before };
    },
    onError: (error: unknown, input: Input, shown: Shown | undefined) => {
      if (shown?.before !== undefined) cache.setQueryData(keyOf(input), shown.before);
      // Without an answer, nobody knows whether it was made. What is read now will show it.
      if (problemOf(error).code !== 'network') onUndone();
    },
    onSettled: (_data: unknown, _error: unknown, input: Input) =>
      cache.invalidateQueries({ queryKey: keyOf(input) }),
  };
}

interface Shape<Data, Input> {
  readonly keyOf: (input: Input) => QueryKey;
  readonly change: (data: Data, input: Input) => Data;
  readonly onUndone: () => void;
}
