/** The state of all endpoint queues of a worker. `reindex` sorts the queues into its sets. */
import { teamKey, type TeamKey } from '../core/team-key.ts';
import {
  modeOf,
  newQueue,
  roomOf,
  type EndpointQueue,
  type Flight,
  type ReadyMode,
} from './endpoint-queue.ts';
import { newSlots, partOf, type Slots } from './slots.ts';
import { WAITING_STATUSES, type WaitingStatus } from './waiting-store.ts';

/** How many attempts may be in flight. */
export interface Limits {
  /** Slots: attempts in flight over all endpoints, parked ones not counted. */
  readonly concurrency: number;
  /** Attempts in flight to one endpoint, parked ones included. */
  readonly maxPerEndpoint: number;
}

/** How many deliveries are in hand for each slot; see `inHandMax`. */
const IN_HAND_PER_SLOT = { least: 4, most: 40 };

type Claimable = Readonly<Record<WaitingStatus, Set<EndpointQueue>>>;

/** Written by the functions of endpoint-queues.ts and claim-shares.ts, and by `reindex`. */
export interface QueuesState {
  readonly limits: Limits;
  /** Written by next, park and land. */
  readonly slots: Slots;
  /** Written by queueOf and forgetIdle. */
  readonly queues: Map<TeamKey, EndpointQueue>;
  /**
   * The queues that can launch, by mode; the one that launched longest ago is first.
   * Written by `reindex` and next; read by next.
   */
  readonly ready: Record<ReadyMode, Set<EndpointQueue>>;
  /**
   * The queues with room for more deliveries and more of them in the database, by the status to
   * claim next. The one that waits longest for a share is first. Written by `reindex`; read by
   * takeShares and canClaim.
   */
  readonly claimable: Claimable;
  /** Those of them whose attempts will be parked from the beginning. */
  readonly claimableSlow: Claimable;
  /** Attempts in flight, oldest first. Written by next and land; read by park and stop. */
  readonly flights: Set<Flight>;
  /**
   * Deliveries that wait in all queues together. Written by accept, next and withdraw; read by
   * capacity and stats.
   */
  queued: number;
  /** Those of them that will be parked. Written by `reindex`; read by claim-shares.ts. */
  queuedSlow: number;
  /** Claims of first attempts of slow queues since the last one of retries. Of takeShares. */
  slowFirsts: number;
  /**
   * Attempts in flight that are parked. Written by park and land; read by countActive and stats.
   */
  parked: number;
  /**
   * Launches in about the last tenth of a second: `next` adds to it, `park` halves it every 50 ms.
   */
  launched: number;
  /** Launches of first attempts since the last one of a retry. Written and read by next. */
  firstsInTurn: number;
  /**
   * How many deliveries to have in hand, parked ones not counted. These are as many as were
   * launched in the last tenth of a second, within bounds for each slot, so that the next claim is
   * answered before they run out. Written by park; read by capacity.
   */
  inHandMax: number;
}

/** No queues yet, and nothing in flight. */
export function newQueuesState(
  limits: Limits,
  slots: Slots = newSlots(limits.concurrency),
): QueuesState {
  return {
    limits,
    slots,
    queues: new Map(),
    ready: { first: new Set(), retry: new Set(), slow: new Set() },
    claimable: newClaimable(),
    claimableSlow: newClaimable(),
    flights: new Set(),
    queued: 0,
    queuedSlow: 0,
    slowFirsts: 0,
    parked: 0,
    launched: 0,
    firstsInTurn: 0,
    inHandMax: partOf(slots, limits.concurrency * IN_HAND_PER_SLOT.least),
  };
}

const newClaimable = (): Claimable => ({
  requested: new Set(),
  pending: new Set(),
  retrying: new Set(),
});

/** Returns the queue of an endpoint. Adds it at the endpoint's first delivery. */
export function queueOf({ queues }: QueuesState, teamId: string, endpointId: string) {
  const key = teamKey(teamId, endpointId);
  const known = queues.get(key);
  if (known) return known;
  const queue = newQueue(teamId, endpointId);
  queues.set(key, queue);
  return queue;
}

/**
 * Puts a queue into the sets of `ready` and `claimable` that it belongs to. Call it after each
 * change of the queue's fields.
 */
export function reindex(state: QueuesState, queue: EndpointQueue): void {
  const { ready, limits } = state;
  const mode = modeOf(queue);
  if (mode !== queue.mode) {
    if (queue.mode !== 'blocked') ready[queue.mode].delete(queue);
    if (mode !== 'blocked') ready[mode].add(queue);
    queue.mode = mode;
  }
  const waitsSlow = queue.isSlow ? queue.waiting.filter(({ row }) => !row.urgent).length : 0;
  state.queuedSlow += waitsSlow - queue.waitsSlow;
  queue.waitsSlow = waitsSlow;
  const wanted = roomOf(queue, limits.maxPerEndpoint) > 0 ? nextStatusOf(queue) : null;
  // A requested attempt takes a slot, that of a slow endpoint, too.
  const isSlow = queue.isSlow && wanted !== 'requested';
  for (const status of WAITING_STATUSES) {
    keep(state.claimable[status], queue, status === wanted && !isSlow);
    keep(state.claimableSlow[status], queue, status === wanted && isSlow);
  }
}

function keep(set: Set<EndpointQueue>, queue: EndpointQueue, isIn: boolean): void {
  if (isIn) set.add(queue);
  else set.delete(queue);
}

/** Requested attempts are claimed before first ones, and these before retries. */
function nextStatusOf({ more }: EndpointQueue): WaitingStatus | null {
  return WAITING_STATUSES.find((status) => more[status]) ?? null;
}

/** While first attempts never end, so many have their turn for each retry. */
const FIRSTS_PER_RETRY = 3;

/** Whether retries have their turn. `inTurn`: the first attempts since the last turn of a retry. */
export function isTurnOfRetries(firsts: number, retries: number, inTurn: number): boolean {
  return retries > 0 && (firsts === 0 || inTurn >= FIRSTS_PER_RETRY);
}

/** Counts this loop's attempts that hold a slot. */
export function countActive({ flights, parked }: QueuesState): number {
  return flights.size - parked;
}

/** Adapts `inHandMax` to the speed of the deliveries. Called every 50 ms. */
export function adaptInHand(state: QueuesState): void {
  const { concurrency } = state.limits;
  const { least, most } = IN_HAND_PER_SLOT;
  const wanted = Math.max(partOf(state.slots, concurrency * least), state.launched);
  state.inHandMax = Math.ceil(Math.min(concurrency * most, wanted));
  state.launched /= 2;
}
