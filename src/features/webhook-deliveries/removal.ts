/**
 * Removes what a deleted webhook endpoint leaves behind: its deliveries with their attempts, and
 * its resends. The deletion itself removes only the endpoint's row, and from then on nothing shows
 * or sends its deliveries. So a million of them cost the request nothing, and the job that removes
 * them may take its time. It may be killed at any moment: what is left is found again.
 */
import { systemClock, type Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { enqueue } from '../../db/outbox.ts';
import { removalJob, type Removal } from './jobs.ts';
import * as store from './removal-store.ts';

/** How a removal runs; tests make it long. */
export interface RemovalOptions {
  readonly clock?: Pick<Clock, 'monotonicMs' | 'wait'>;
  readonly signal?: AbortSignal | undefined;
  /** After this time a run lets the removals of others have their turn. */
  readonly runMs?: number;
}

const RUN_MS = 5_000;

/**
 * Removes batches for a while. Enqueues the next run if something is left. That one goes on where
 * this one stopped: to pass what is removed already takes longer each time, and at last all of a
 * run. Only when the end is reached, what was locked meanwhile is looked for from the beginning.
 */
export async function removeDeletedEndpoint(
  db: Db,
  { teamId, endpointId, after: reached }: Removal,
  { clock = systemClock, signal, runMs = RUN_MS }: RemovalOptions = {},
): Promise<void> {
  const endpoint = { teamId, endpointId };
  const until = clock.monotonicMs() + runMs;
  let after = reached ?? null;
  let hasPassed = false;
  do {
    const startedAt = clock.monotonicMs();
    if (hasPassed) {
      if ((await store.removeResends(db, endpoint)) === 0) break;
    } else {
      after = await store.removeDeliveries(db, endpoint, after);
      hasPassed = after === null;
    }
    // Half of the time belongs to others.
    await clock.wait(clock.monotonicMs() - startedAt);
  } while (clock.monotonicMs() < until && !signal?.aborted);
  if (after !== null || (await store.hasRows(db, endpoint)))
    await enqueue(db, teamId, removalJob({ ...endpoint, after: after ?? undefined }));
}
