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

/** Whether there is something to claim, and room for it. */
export function canClaim(state: QueuesState): boolean {
  const hasClaimable = WAITING_STATUSES.some((status) => state.claimable[status].size > 0);
  return hasClaimable && capacity(state) > 0;
}

/** How many deliveries of each status to claim. */
export type Rooms = Readonly<Record<WaitingStatus, number>>;

/** The parts of the statuses while all of them wait, so that none waits for another's end. */
const PARTS: Rooms = { requested: 3, pending: 3, retrying: 1 };

/**
 * Divides what a round has room for among the statuses that wait. `hasNew`: there will be new
 * deliveries, which are `pending`.
 */
export function divide({ claimable }: QueuesState, room: number, hasNew: boolean): Rooms {
  const waits = (status: WaitingStatus): boolean =>
    claimable[status].size > 0 || (status === 'pending' && hasNew);
  const parts = WAITING_STATUSES.filter(waits).reduce((sum, status) => sum + PARTS[status], 0);
  const of = (status: WaitingStatus): number =>
    waits(status) ? Math.ceil((room * PARTS[status]) / parts) : 0;
  return { requested: of('requested'), pending: of('pending'), retrying: of('retrying') };
}

/**
 * Divides the room of a status among its claimable queues. From then on, a queue with a share
 * counts as having no more in the database. Call `setMore` if a claim fills the whole share,
 * because there may be more then.
 */
export function takeShares(state: QueuesState, status: WaitingStatus, room: number): Share[] {
  const { claimable, limits } = state;
  let left = room;
  const each = Math.max(1, Math.floor(left / Math.max(1, claimable[status].size)));
  const shares: Share[] = [];
  for (const queue of claimable[status]) {
    if (left <= 0) break;
    const share = Math.min(roomOf(queue, limits.maxPerEndpoint), each, left);
    left -= share;
    shares.push({ queue, room: share });
  }
  for (const { queue } of shares) {
    queue.more[status] = false;
    reindex(state, queue);
  }
  return shares;
}
