import type { QueryKey } from '@tanstack/react-query';
import { queryClient } from './api.ts';
import { shownFirst } from './shown-first.ts';

/**
 * Options of a mutation whose result is shown before the service has answered. If the service
 * refuses it, the page shows again what was there before, and `onUndone` is called. What the
 * change is about must be in its input: a change that waits or runs gets the options of each later
 * render, in which another thing may be chosen.
 */
export function optimistic<Data, Input>(
  keyOf: (input: Input) => QueryKey,
  change: (data: Data, input: Input) => Data,
  onUndone: () => void,
) {
  return shownFirst(queryClient, { keyOf, change, onUndone });
}
