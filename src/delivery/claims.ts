/** Claims due deliveries of the endpoints that are known to have some. */
import { accept } from './attempts.ts';
import { claimDue } from './claim-store.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { Loop } from './loop.ts';
import type { WaitingStatus } from './waiting-store.ts';

/**
 * Claims at most `room` deliveries, a share for each queue that has more in the database, and
 * launches what it can.
 */
export async function claim(loop: Loop, status: WaitingStatus, room: number): Promise<void> {
  const { options, queues } = loop;
  const { db, lock, clock } = options;
  const shares = queues.takeShares(status, room);
  if (shares.length === 0) return;
  const rows = await claimDue(db, status, { worker: lock.number, shares, now: clock.now() });
  const claimed = new Map<EndpointQueue, number>();
  for (const { team_id, endpoint_id } of rows) {
    const queue = queues.queueOf(team_id, endpoint_id);
    claimed.set(queue, (claimed.get(queue) ?? 0) + 1);
  }
  accept(loop, rows);
  // If the claim filled a whole share, there may be more.
  for (const { queue, room: share } of shares)
    if (claimed.get(queue) === share) queues.setMore(queue, status);
}
