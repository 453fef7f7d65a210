import type { QueryKey } from '@tanstack/react-query';
import { queryClient } from './api.ts';

/** What was shown before; undefined: nothing. */
interface Shown {
  readonly before: unknown;
}

/**
 * Options of a mutation whose result is shown before the service has answered. If the service
 * refuses it, the page shows again what was there before, and `onUndone` is called.
 */
export function optimistic<Data, Input>(
  queryKey: QueryKey,
  change: (data: Data, input: Input) => Data,
  onUndone: () => void,
) {
  return {
    onMutate: async (input: Input): Promise<Shown> => {
      // An answer to an older question would cover the change.
      await queryClient.cancelQueries({ queryKey });
      const before = queryClient.getQueryData<Data>(queryKey);
      if (before !== undefined) queryClient.setQueryData(queryKey, change(before, input));
      return { before };
    },
    onError: (_error: unknown, _input: Input, shown: Shown | undefined) => {
      if (shown?.before !== undefined) queryClient.setQueryData(queryKey, shown.before);
      onUndone();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey }),
  };
}
