import type { QueryClient } from '@tanstack/react-query';

/**
 * Reads again all that is shown, after a change of everything. What is not shown is forgotten: kept
 * until it is read again, it would show what the change has hidden or removed.
 */
export async function readAllAnew(cache: QueryClient): Promise<void> {
  cache.removeQueries({ type: 'inactive' });
  await cache.invalidateQueries();
}
