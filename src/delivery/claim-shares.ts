/**
 * Decides what to claim next: a share for each endpoint, in total no more than the slots will soon
 * need.
 */
import { roomOf, type EndpointQueue } from './endpoint-queue.ts';
import { countActive, reindex, type QueuesState } from './queues-state.ts';
import { WAITING_STATUSES, type WaitingStatus } from './waiting-store.ts';

/** How many deliveries of an endpoint to claim at most. */
export interface Share {
  readonly queue: EndpointQueue;
  readonly room: number;
}

/**
 * How many deliveries to claim now. Claims come in batches unless slots are idle: one claim for
 * each delivery that ends would cost more than the delivery.
 */
export function capacity(state: QueuesState): number {
  const { inHandMax, queued, slots } = state;
  const active = countActive(state);
  const left = Math.max(0, inHandMax - active - queued);
  return slots.taken < slots.count || left >= inHandMax / 2 ? left : 0;
}

/** Whether `takeShares` has shares to return. */
export function canClaim(state: QueuesState): boolean {
  return hasClaimable(state, WAITING_STATUSES) && capacity(state) > 0;
}

function hasClaimable({ claimable }: QueuesState, statuses: readonly WaitingStatus[]): boolean {
  return statuses.some((status) => claimable[status].size > 0);
}

/**
 * Divides the capacity among the claimable queues. From then on, a queue with a share counts as
 * having no more in the database. Call `setMore` if a claim fills the whole share, because there
 * may be more then.
 */
export function takeShares(state: QueuesState, status: WaitingStatus): Share[] {
  const { claimable, limits } = state;
  // Many requested attempts leave half of the room to all others.
  const isShared = status === 'requested' && hasClaimable(state, ['pending', 'retrying']);
  let left = Math.ceil(capacity(state) / (isShared ? 2 : 1));
  const each = Math.max(1, Math.floor(left / Math.max(1, claimable[status].size)));
  const shares: Share[] = [];
  for (const queue of claimable[status]) {
    if (left === 0) break;
    const room = Math.min(roomOf(queue, limits.maxPerEndpoint), each, left);
    left -= room;
    shares.push({ queue, room });
  }
  for (const { queue } of shares) {
    queue.more[status] = false;
    reindex(state, queue);
  }
  return shares;
}
