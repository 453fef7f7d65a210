import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import { cancelStatement } from '../wire/cancel.ts';

/**
 * Cancels the connection's statement when the caller of its work hangs up. Call the returned
 * function when the work has ended: it resolves with whether the connection can be given to
 * somebody else.
 */
export function cancelOnHangUp(
  client: pg.PoolClient,
  clock: Pick<Clock, 'after'>,
  signal: AbortSignal | undefined,
): () => Promise<boolean> {
  let cancelled = Promise.resolve(true);
  const begin = (): void => {
    cancelled = cancelStatement(client, clock);
  };
  if (signal?.aborted) begin();
  else signal?.addEventListener('abort', begin);
  return () => {
    signal?.removeEventListener('abort', begin);
    return cancelled;
  };
}
