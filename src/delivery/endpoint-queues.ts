/**
 * Decides which delivery is attempted next. This worker's claimed deliveries wait in memory, one
 * queue for each endpoint. No clock and no IO of its own.
 *
 * A delivery's way through here:
 *
 *   accept → waiting ─ next → in flight ─ land → gone (its result is written elsewhere)
 *               └─ withdraw → gone (released: the claim is old, or the endpoint became slow)
 *   in flight ─ park → in flight without a slot ─ land → gone
 *
 * Rules:
 *  * Queues take turns, so a long queue does not hold up a short one. Queues with a first attempt
 *    go before queues that only have retries, but for each fourth turn. Slow queues go last.
 *  * A queue has at most `cap` attempts in flight. The cap begins at one, doubles with each success
 *    up to the limit and halves with each failure. A timeout brings it back to one, so an endpoint
 *    that never answers holds one slot and not all of its limit.
 *  * An attempt that is silent for a while is parked: it goes on, but gives its slot to another.
 *    So endpoints that hang do not take slots from those that answer. Those of a slow queue are
 *    parked from the beginning: very many that reach their time limit together, and begin the next
 *    attempts together, take no slot. The number of parked attempts is limited, to bound memory.
 *    No more is claimed for slow queues than can be parked, first attempts and retries in turn, and
 *    what waits in them takes nothing from what others may have in hand.
 *  * While very many results of an endpoint wait to be written, it has no turns.
 */
import { teamKey, type TeamKey } from '../core/team-key.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import {
  canClaim,
  capacity,
  divide,
  roomNow,
  takeShares,
  type Rooms,
  type Share,
} from './claim-shares.ts';
import {
  capAfter,
  insertWaiting,
  isAtLimit,
  withdrawFrom,
  type EndpointQueue,
  type Flight,
  type Pace,
  type ReadyMode,
} from './endpoint-queue.ts';
import {
  adaptInHand,
  isTurnOfRetries,
  newQueuesState,
  queueOf,
  reindex,
  type Limits,
  type QueuesState,
} from './queues-state.ts';
import { parkedMax, type Slots } from './slots.ts';
import { WAITING_STATUSES, type EndpointRef, type WaitingStatus } from './waiting-store.ts';

/** All endpoint queues of a worker. Only these functions change them. */
export interface EndpointQueues {
  /** Attempts in flight, oldest first. */
  readonly flights: ReadonlySet<Flight>;
  queueOf(teamId: string, endpointId: string): EndpointQueue;
  /** Queues a claimed delivery. */
  accept(row: ClaimedDelivery, claimedAtMs: number): void;
  /** Launches the next delivery. Returns null if every slot is taken or no queue is ready. */
  next(nowMs: number): Flight | null;
  /**
   * Takes the slots of attempts that have been silent since before `sinceMs`. Returns whether there
   * were any. Call it every 50 ms.
   */
  park(sinceMs: number): boolean;
  /** Ends an attempt. */
  land(flight: Flight, pace: Pace, nowMs: number): void;
  /** The endpoints whose own limit holds their deliveries back; see `isAtLimit`. */
  atLimit(nowMs: number): EndpointRef[];
  /** Counts results of the queue's endpoint that wait to be written: 1 more, or -1. */
  addUnwritten(queue: EndpointQueue, count: number): void;
  /** Takes out what was claimed before `sinceMs`, and what slow endpoints cannot launch now. */
  withdraw(sinceMs: number): ClaimedDelivery[];
  /** Notes that the database has more deliveries of this status for the queue. */
  setMore(queue: EndpointQueue, status: WaitingStatus): void;
  /** How many deliveries to claim now, over all endpoints. */
  capacity(): number;
  /** How many more deliveries of this endpoint to claim at most. */
  roomOf(queue: EndpointQueue): number;
  /** Whether there is something to claim, and room for it. */
  canClaim(): boolean;
  /** Divides the room of a round. `hasNew`: there will be new deliveries, which are `pending`. */
  divide(room: number, hasNew: boolean): Rooms;
  /**
   * Returns the shares to claim, in total no more than `room`. From then on, each of these queues
   * counts as having no more in the database, until `setMore`.
   */
  takeShares(status: WaitingStatus, room: number): Share[];
  /** Keys of the deliveries that wait in the queues. */
  queuedKeys(): TeamKey[];
  /** Drops queues with nothing in hand when there are very many. */
  forgetIdle(): void;
  stats(): { inFlight: number; parked: number; queued: number };
}

const QUEUES_REMEMBERED = 10_000;

/** No queues yet. Other loops may have the same slots. */
export function createEndpointQueues(limits: Limits, slots?: Slots): EndpointQueues {
  const state = newQueuesState(limits, slots);
  const { flights, queues } = state;
  return {
    flights,
    queueOf: (teamId, endpointId) => queueOf(state, teamId, endpointId),
    accept: (row, claimedAtMs) => accept(state, row, claimedAtMs),
    next: (nowMs) => next(state, nowMs),
    park: (sinceMs) => park(state, sinceMs),
    land: (flight, pace, nowMs) => land(state, { flight, pace, nowMs }),
    atLimit: (nowMs) =>
      [...queues.values()]
        .filter((queue) => isAtLimit(queue, nowMs))
        .map(({ teamId, endpointId }) => ({ team_id: teamId, endpoint_id: endpointId })),
    addUnwritten: (queue, count) => {
      queue.unwritten += count;
      reindex(state, queue);
    },
    withdraw: (sinceMs) => withdraw(state, sinceMs),
    setMore: (queue, status) => setMore(state, queue, status),
    capacity: () => capacity(state),
    roomOf: (queue) => roomNow(state, queue),
    canClaim: () => canClaim(state),
    divide: (room, hasNew) => divide(state, room, hasNew),
    takeShares: (status, room) => takeShares(state, status, room),
    queuedKeys: () =>
      [...queues.values()].flatMap(({ waiting }) =>
        waiting.map(({ row }) => teamKey(row.team_id, row.id)),
      ),
    forgetIdle: () => forgetIdle(state),
    stats: () => ({ inFlight: flights.size, parked: state.parked, queued: state.queued }),
  };
}

function accept(state: QueuesState, row: ClaimedDelivery, claimedAtMs: number): void {
  const queue = queueOf(state, row.team_id, row.endpoint_id);
  insertWaiting(queue, { row, claimedAtMs });
  state.queued += 1;
  reindex(state, queue);
}

function next(state: QueuesState, nowMs: number): Flight | null {
  const { ready, flights, slots } = state;
  const mode = nextMode(state);
  if (!mode) return null;
  const [queue] = ready[mode];
  if (!queue) return null;
  const delivery = queue.waiting.shift();
  if (!delivery) throw new Error('A queue is ready and nothing waits in it.');
  state.queued -= 1;
  state.launched += 1;
  if (mode !== 'slow') state.firstsInTurn = mode === 'first' ? state.firstsInTurn + 1 : 0;
  queue.inFlight += 1;
  if (queue.inFlight >= queue.cap) queue.atLimitMs = nowMs;
  const isParked = mode === 'slow';
  if (isParked) {
    state.parked += 1;
    slots.parked += 1;
  } else slots.taken += 1;
  const flight: Flight = {
    row: delivery.row,
    queue,
    startedAtMs: nowMs,
    isParked,
    isSilent: false,
  };
  flights.add(flight);
  // The queue goes to the end, so the other queues have their turns first.
  ready[mode].delete(queue);
  queue.mode = 'blocked';
  reindex(state, queue);
  return flight;
}

/** The mode of the queues that have their turn; null if none can launch. */
function nextMode({ ready, slots, firstsInTurn }: QueuesState): ReadyMode | null {
  if (slots.taken < slots.count) {
    if (isTurnOfRetries(ready.first.size, ready.retry.size, firstsInTurn)) return 'retry';
    if (ready.first.size > 0) return 'first';
  }
  return ready.slow.size > 0 && slots.parked < parkedMax(slots) ? 'slow' : null;
}

function park(state: QueuesState, sinceMs: number): boolean {
  adaptInHand(state);
  const { slots } = state;
  const parkedBefore = state.parked;
  for (const flight of state.flights) {
    // The oldest come first.
    if (flight.startedAtMs > sinceMs) break;
    flight.isSilent = true;
    if (flight.isParked || slots.parked >= parkedMax(slots)) continue;
    flight.isParked = true;
    flight.queue.isSlow = true;
    state.parked += 1;
    slots.parked += 1;
    slots.taken -= 1;
    reindex(state, flight.queue);
  }
  return state.parked > parkedBefore;
}

interface Landing {
  readonly flight: Flight;
  readonly pace: Pace;
  readonly nowMs: number;
}

function land(state: QueuesState, { flight, pace, nowMs }: Landing): void {
  const { queue, isParked, isSilent } = flight;
  const { slots } = state;
  if (!state.flights.delete(flight)) throw new Error('An attempt landed twice.');
  if (isParked) {
    state.parked -= 1;
    slots.parked -= 1;
  } else slots.taken -= 1;
  queue.isSlow = isSilent || pace === 'timeout';
  if (queue.inFlight >= queue.cap) queue.atLimitMs = nowMs;
  queue.inFlight -= 1;
  queue.cap = capAfter(queue.cap, pace, state.limits.maxPerEndpoint);
  reindex(state, queue);
}

function withdraw(state: QueuesState, sinceMs: number): ClaimedDelivery[] {
  const all: ClaimedDelivery[] = [];
  for (const queue of state.queues.values()) {
    const taken = withdrawFrom(queue, sinceMs);
    if (taken.length === 0) continue;
    all.push(...taken);
    state.queued -= taken.length;
    reindex(state, queue);
  }
  return all;
}

function setMore(state: QueuesState, queue: EndpointQueue, status: WaitingStatus): void {
  queue.more[status] = true;
  reindex(state, queue);
}

function forgetIdle({ queues }: QueuesState): void {
  if (queues.size <= QUEUES_REMEMBERED) return;
  for (const [key, { inFlight, unwritten, waiting, more }] of queues) {
    const hasMore = WAITING_STATUSES.some((status) => more[status]);
    if (inFlight + unwritten + waiting.length === 0 && !hasMore) queues.delete(key);
  }
}
