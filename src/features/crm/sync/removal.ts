/** Removes what a disconnected connection leaves behind. The job may be killed at any moment. */
import { systemClock, type Clock } from '../../../core/clock.ts';
import type { Db } from '../../../db/client.ts';
import { enqueue } from '../../../db/outbox.ts';
import { removalJob, type Removal } from './jobs.ts';
import * as store from './removal-store.ts';

/** How a removal runs; tests make it long. */
export interface RemovalOptions {
  readonly clock?: Pick<Clock, 'monotonicMs' | 'wait'>;
  readonly signal?: AbortSignal | undefined;
  /** After this time a removal lets those of others have their turn. */
  readonly runMs?: number;
}

const RUN_MS = 5_000;

/**
 * Removes the deals of a disconnected connection in batches, then the connection. If that takes
 * long, it enqueues the next run, which goes on where this one stopped.
 */
export async function removeRows(
  db: Db,
  { after: reached, ...connection }: Removal,
  { clock = systemClock, signal, runMs = RUN_MS }: RemovalOptions = {},
): Promise<void> {
  const until = clock.monotonicMs() + runMs;
  let after: string | null = reached ?? '';
  do {
    const startedAt = clock.monotonicMs();
    after = await store.removeDeals(db, connection, after);
    // Half of the time belongs to others.
    await clock.wait(clock.monotonicMs() - startedAt);
  } while (after !== null && clock.monotonicMs() < until && !signal?.aborted);
  if (after === null) await store.removeConnection(db, connection);
  else await enqueue(db, connection.teamId, removalJob({ ...connection, after }));
}
