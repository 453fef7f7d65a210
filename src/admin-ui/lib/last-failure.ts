import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/**
 * The last failure of changes in a scope, which are made one after the other: the success of a
 * later one does not cover it. It is over when a change begins while no other one waits or runs.
 */
export function useLastFailure({ id }: { readonly id: string }): unknown {
  const cache = useQueryClient();
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    const predicate = ({ options }: { options: { scope?: { id: string } } }) =>
      options.scope?.id === id;
    return cache.getMutationCache().subscribe((event) => {
      if (event.type !== 'updated' || !predicate(event.mutation)) return;
      const { action } = event;
      if (action.type === 'error') setFailure(action.error);
      // A change is told to be pending twice: when it begins, and then with its context.
      const begins = action.type === 'pending' && action.context === undefined;
      if (begins && cache.isMutating({ predicate }) === 1) setFailure(null);
    });
  }, [cache, id]);
  return failure;
}
