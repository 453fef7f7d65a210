/**
 * Removes what a deleted webhook endpoint leaves behind: its deliveries with their attempts, and
 * its resends. The deletion itself removes only the endpoint's row, and from then on nothing shows
 * or sends its deliveries. So a million of them cost the request nothing, and the job that removes
 * them may take its time. It may be killed at any moment: what is left is found again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../../db/client.ts';
import { enqueue } from '../../db/outbox.ts';
import { removalJob, type DeletedEndpoint } from './jobs.ts';
import * as store from './removal-store.ts';

/** After this time a run lets the removals of others have their turn. */
const RUN_MS = 5_000;

/** Removes batches for a while. Enqueues the next run if something is left. */
export async function removeDeletedEndpoint(
  db: Db,
  endpoint: DeletedEndpoint,
  signal?: AbortSignal,
): Promise<void> {
  const until = performance.now() + RUN_MS;
  let after: Awaited<ReturnType<typeof store.removeDeliveries>> = null;
  do {
    const startedAt = performance.now();
    after = await store.removeDeliveries(db, endpoint, after);
    if (after === null && (await store.removeResends(db, endpoint)) === 0) break;
    // Half of the time belongs to others.
    await delay(performance.now() - startedAt);
  } while (performance.now() < until && !signal?.aborted);
  if (await store.hasRows(db, endpoint)) await enqueue(db, endpoint.teamId, removalJob(endpoint));
}
