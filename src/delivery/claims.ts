/** Finds the endpoints with due deliveries and claims these deliveries. */
import { accept } from './attempts.ts';
import { claimDue } from './claim-store.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { Loop } from './loop.ts';
import { findWaiting, type WaitingStatus } from './waiting-store.ts';

/** The search costs 10 µs an endpoint. */
const ENDPOINTS_PER_SEARCH = 500;

/**
 * Finds the next endpoints with something due, from where the last search ended. These are
 * deliveries whose wake-up was lost, due retries, and deliveries to endpoints whose pause ended.
 */
export async function findDue(
  { options, queues, state }: Loop,
  status: WaitingStatus,
): Promise<void> {
  const { due, next } = await findWaiting(options.db, status, {
    after: state.searchAfter[status],
    limit: ENDPOINTS_PER_SEARCH,
    now: options.clock.now(),
  });
  state.searchAfter[status] = next;
  for (const { team_id, endpoint_id } of due)
    queues.setMore(queues.queueOf(team_id, endpoint_id), status);
}

/** Claims a share for each queue that has more in the database, and launches what it can. */
export async function claim(loop: Loop, status: WaitingStatus): Promise<void> {
  const { options, queues } = loop;
  const { db, lock, clock } = options;
  const shares = queues.takeShares(status);
  if (shares.length === 0) return;
  const rows = await claimDue(db, status, { worker: lock.number, shares, now: clock.now() });
  const claimed = new Map<EndpointQueue, number>();
  for (const { team_id, endpoint_id } of rows) {
    const queue = queues.queueOf(team_id, endpoint_id);
    claimed.set(queue, (claimed.get(queue) ?? 0) + 1);
  }
  accept(loop, rows);
  // If the claim filled a whole share, there may be more.
  for (const { queue, room } of shares)
    if (claimed.get(queue) === room) queues.setMore(queue, status);
}
