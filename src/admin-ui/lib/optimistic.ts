import type { QueryKey } from '@tanstack/react-query';
import { queryClient } from './api.ts';
import { shownFirst } from './shown-first.ts';

/**
 * Options of a mutation whose result is shown before the service has answered. If the service
 * refuses it, the page shows again what was there before, and `onUndone` is called.
 */
export function optimistic<Data, Input>(
  queryKey: QueryKey,
  change: (data: Data, input: Input) => Data,
  onUndone: () => void,
) {
  return shownFirst(queryClient, queryKey, { change, onUndone });
}
