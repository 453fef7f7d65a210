/**
 * Decides what to claim next: a share for each endpoint, in total no more than the slots will soon
 * need.
 */
import { roomOf, type EndpointQueue } from './endpoint-queue.ts';
import { countActive, isTurnOfRetries, reindex, type QueuesState } from './queues-state.ts';
import { parkedMax } from './slots.ts';
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
  const { inHandMax, queued, queuedSlow, slots } = state;
  const active = countActive(state);
  const left = Math.max(0, inHandMax - active - (queued - queuedSlow));
  return slots.taken < slots.count || left >= inHandMax / 2 ? left : 0;
}

/** How many more deliveries of slow endpoints can be parked. */
function parkedRoom({ slots, queuedSlow }: QueuesState): number {
  return Math.max(0, parkedMax(slots) - slots.parked - queuedSlow);
}

/**
 * The status whose slow queues have their turn; null if none has anything to claim. They take
 * turns, since the first one to claim takes all that can be parked.
 */
function slowTurn({ claimableSlow, slowFirsts }: QueuesState): WaitingStatus | null {
  const { pending, retrying } = claimableSlow;
  if (isTurnOfRetries(pending.size, retrying.size, slowFirsts)) return 'retrying';
  return pending.size > 0 ? 'pending' : null;
}

/**
 * How many more deliveries of this endpoint to claim as they are made: none of a slow one while
 * other slow ones wait for their turn.
 */
export function roomNow(state: QueuesState, queue: EndpointQueue): number {
  const room = roomOf(queue, state.limits.maxPerEndpoint);
  if (!queue.isSlow) return room;
  return slowTurn(state) === null ? Math.min(room, parkedRoom(state)) : 0;
}

/** Whether the endpoint queues have deliveries of this status to claim. */
function hasClaimable(state: QueuesState, status: WaitingStatus): boolean {
  const isSlowTurn = slowTurn(state) === status && parkedRoom(state) > 0;
  return isSlowTurn || state.claimable[status].size > 0;
}

/** Whether there is something to claim, and room for it. */
export function canClaim(state: QueuesState): boolean {
  return capacity(state) > 0 && WAITING_STATUSES.some((status) => hasClaimable(state, status));
}

/** How many deliveries of each status to claim. */
export type Rooms = Readonly<Record<WaitingStatus, number>>;

/** The parts of the statuses while all of them wait, so that none waits for another's end. */
const PARTS: Rooms = { requested: 3, pending: 3, retrying: 1 };

/**
 * Divides what a round has room for among the statuses that wait. `hasNew`: there will be new
 * deliveries, which are `pending`.
 */
export function divide(state: QueuesState, room: number, hasNew: boolean): Rooms {
  const waits = (status: WaitingStatus): boolean =>
    hasClaimable(state, status) || (status === 'pending' && hasNew);
  const parts = WAITING_STATUSES.filter(waits).reduce((sum, status) => sum + PARTS[status], 0);
  const of = (status: WaitingStatus): number =>
    waits(status) ? Math.ceil((room * PARTS[status]) / parts) : 0;
  return { requested: of('requested'), pending: of('pending'), retrying: of('retrying') };
}

/**
 * Divides the room of a status among its claimable queues. If it is the turn of its slow ones, they
 * get their part, but no more than can be parked. From then on, a queue with a share counts as
 * having no more in the database. Call `setMore` if a claim fills the whole share, because there
 * may be more then.
 */
export function takeShares(state: QueuesState, status: WaitingStatus, room: number): Share[] {
  const { limits } = state;
  const quick = state.claimable[status];
  const slow = state.claimableSlow[status];
  const partOfSlow = Math.ceil((room * slow.size) / Math.max(1, quick.size + slow.size));
  const roomOfSlow = slowTurn(state) === status ? Math.min(parkedRoom(state), partOfSlow) : 0;
  if (roomOfSlow > 0) state.slowFirsts = status === 'retrying' ? 0 : state.slowFirsts + 1;
  const shares = [
    ...shareOut(quick, room - roomOfSlow, limits.maxPerEndpoint),
    ...shareOut(slow, roomOfSlow, limits.maxPerEndpoint),
  ];
  for (const { queue } of shares) {
    queue.more[status] = false;
    reindex(state, queue);
  }
  return shares;
}

function shareOut(
  queues: ReadonlySet<EndpointQueue>,
  room: number,
  maxPerEndpoint: number,
): Share[] {
  let left = room;
  const each = Math.max(1, Math.floor(left / Math.max(1, queues.size)));
  const shares: Share[] = [];
  for (const queue of queues) {
    if (left <= 0) break;
    const share = Math.min(roomOf(queue, maxPerEndpoint), each, left);
    left -= share;
    shares.push({ queue, room: share });
  }
  return shares;
}
