/**
 * This worker's claimed deliveries, one queue for each endpoint. No clock and no IO of its own.
 *
 *   accept → waiting ─ next → in flight ─ land → gone (its result is written elsewhere)
 *               └─ withdraw → gone (released: the claim is old, or the endpoint is slow)
 *
 * Two numbers keep endpoints from delaying each other:
 *  * A worker holds a limited number of deliveries, and endpoints whose last attempt was slow hold
 *    at most half of them.
 *  * An endpoint has at most `cap` attempts in flight. The cap begins at one, doubles with each
 *    success up to the limit, and halves with each failure. A timeout brings it back to one.
 *
 * So what is claimed waits for its own endpoint only. Endpoints take turns when deliveries are
 * claimed, whatever these wait as: a team with very many of one kind holds up no other's.
 */
import { teamKey, type TeamKey } from '../core/team-key.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import {
  addWaiting,
  heldBy,
  isAtLimit,
  isReady,
  land,
  launch,
  newQueue,
  nextStatusOf,
  roomOf,
  SLOW_MS,
  withdrawFrom,
  type EndpointQueue,
  type Flight,
  type Pace,
} from './endpoint-queue.ts';
import type { EndpointRef, WaitingStatus } from './waiting-store.ts';

/** How many deliveries a loop may hold. */
interface Limits {
  /** Over all endpoints, now. */
  readonly held: () => number;
  /** Attempts in flight to one endpoint. */
  readonly maxPerEndpoint: number;
}

/** How many deliveries of an endpoint to claim at most, and as what they wait. */
export interface Share {
  readonly queue: EndpointQueue;
  readonly status: WaitingStatus;
  readonly room: number;
}

/** What a round claims, so that no delivery waits for a large claim of others. */
export const ROUND_MAX = 200;

const QUEUES_REMEMBERED = 10_000;

type Speed = 'quick' | 'slow';

/** The queues of one loop. Only these functions change them. */
export interface Queues {
  queueOf(teamId: string, endpointId: string): EndpointQueue;
  /** Queues a claimed delivery. */
  accept(row: ClaimedDelivery, claimedAtMs: number): void;
  /** Launches the next delivery. Returns null if no queue is ready. */
  next(nowMs: number): Flight | null;
  /** Ends an attempt. */
  land(flight: Flight, pace: Pace, nowMs: number): void;
  /** Notes which endpoints are slow because an attempt in flight is. Call it at each tick. */
  noticeSlow(nowMs: number): void;
  /** Counts results of the queue's endpoint that wait to be written: 1 more, or -1. */
  addUnwritten(queue: EndpointQueue, count: number): void;
  /** Notes that the database has more deliveries of this status for the queue. */
  setMore(queue: EndpointQueue, status: WaitingStatus): void;
  /** Takes out what was claimed before `sinceMs`, and what slow endpoints cannot launch now. */
  withdraw(sinceMs: number): ClaimedDelivery[];
  /** How many deliveries to claim now, over all endpoints. */
  capacity(): number;
  /** How many of these to claim as they are made: those that wait have half of the room. */
  roomForNew(): number;
  /** How many deliveries of this endpoint to claim as they are made. Slow ones wait for a share. */
  roomOf(queue: EndpointQueue): number;
  /** Whether there is something to claim, and room for it. */
  canClaim(): boolean;
  /**
   * Divides the room among the endpoints to claim for; a part of it goes to slow ones. From then
   * on, a queue with a share counts as having no more in the database, until `setMore`.
   */
  takeShares(room: number): Share[];
  /** Keys of the deliveries that wait. */
  waitingKeys(): TeamKey[];
  /** The endpoints whose own limit holds their deliveries back; see `isAtLimit`. */
  atLimit(nowMs: number): EndpointRef[];
  /** Drops queues without deliveries when there are very many. */
  forgetIdle(): void;
  /** How many deliveries are in flight, how many wait, and how many of both slow endpoints hold. */
  stats(): { inFlight: number; slow: number; queued: number };
}

interface State {
  readonly limits: Limits;
  readonly queues: Map<TeamKey, EndpointQueue>;
  /** Those that can launch their next delivery. */
  readonly ready: Set<EndpointQueue>;
  /** Those to claim for. The one that has waited longest for a share is first. */
  readonly claimable: Readonly<Record<Speed, Set<EndpointQueue>>>;
  /** Attempts in flight, oldest first. */
  readonly flights: Set<Flight>;
  /** How many deliveries wait and are in flight. */
  readonly held: Record<Speed, number>;
}

/** No queues yet. */
export function createQueues(limits: Limits): Queues {
  const state: State = {
    limits,
    queues: new Map(),
    ready: new Set(),
    claimable: { quick: new Set(), slow: new Set() },
    flights: new Set(),
    held: { quick: 0, slow: 0 },
  };
  return {
    queueOf: (teamId, endpointId) => queueOf(state, teamId, endpointId),
    accept: (row, claimedAtMs) => {
      const queue = queueOf(state, row.team_id, row.endpoint_id);
      change(state, queue, () => addWaiting(queue, { row, claimedAtMs }));
    },
    next: (nowMs) => next(state, nowMs),
    land: (flight, pace, nowMs) => {
      if (!state.flights.delete(flight)) throw new Error('An attempt landed twice.');
      const { maxPerEndpoint } = limits;
      change(state, flight.queue, () => land(flight, { pace, nowMs, maxPerEndpoint }));
    },
    noticeSlow: (nowMs) => noticeSlow(state, nowMs),
    addUnwritten: (queue, count) => change(state, queue, () => (queue.unwritten += count)),
    setMore: (queue, status) => change(state, queue, () => (queue.more[status] = true)),
    withdraw: (sinceMs) =>
      [...state.queues.values()].flatMap((queue) =>
        queue.waiting.length === 0 ? [] : change(state, queue, () => withdrawFrom(queue, sinceMs)),
      ),
    capacity: () => capacity(state),
    roomOf: (queue) => (queue.isSlow ? 0 : roomOf(queue, limits.maxPerEndpoint)),
    roomForNew: () => (canClaim(state) ? Math.floor(capacity(state) / 2) : capacity(state)),
    canClaim: () => canClaim(state),
    takeShares: (room) => takeShares(state, room),
    waitingKeys: () =>
      [...state.queues.values()].flatMap(({ waiting }) =>
        waiting.map(({ row }) => teamKey(row.team_id, row.id)),
      ),
    atLimit: (nowMs) =>
      [...state.queues.values()]
        .filter((queue) => isAtLimit(queue, nowMs))
        .map(({ teamId, endpointId }) => ({ team_id: teamId, endpoint_id: endpointId })),
    forgetIdle: () => forgetIdle(state),
    stats: () => {
      const inFlight = state.flights.size;
      return { inFlight, slow: state.held.slow, queued: heldByAll(state) - inFlight };
    },
  };
}

/** Returns the queue of an endpoint. Adds it at the endpoint's first delivery. */
function queueOf({ queues }: State, teamId: string, endpointId: string): EndpointQueue {
  const key = teamKey(teamId, endpointId);
  const known = queues.get(key);
  if (known) return known;
  const queue = newQueue(teamId, endpointId);
  queues.set(key, queue);
  return queue;
}

function next(state: State, nowMs: number): Flight | null {
  const [queue] = state.ready;
  if (!queue) return null;
  const flight = change(state, queue, () => launch(queue, nowMs));
  state.flights.add(flight);
  return flight;
}

function noticeSlow(state: State, nowMs: number): void {
  for (const { startedAtMs, queue } of state.flights) {
    if (nowMs - startedAtMs < SLOW_MS) return;
    change(state, queue, () => (queue.isSlow = true));
  }
}

function heldByAll({ held }: State): number {
  return held.quick + held.slow;
}

function capacity(state: State): number {
  return Math.max(0, Math.min(ROUND_MAX, state.limits.held() - heldByAll(state)));
}

/** How many more deliveries slow endpoints may hold. */
function slowRoom({ limits, held }: State): number {
  return Math.max(0, Math.floor(limits.held() / 2) - held.slow);
}

function canClaim(state: State): boolean {
  const { quick, slow } = state.claimable;
  return capacity(state) > 0 && (quick.size > 0 || (slow.size > 0 && slowRoom(state) > 0));
}

function takeShares(state: State, room: number): Share[] {
  const { quick, slow } = state.claimable;
  const ofSlow = Math.ceil((room * slow.size) / Math.max(1, quick.size + slow.size));
  const roomOfSlow = Math.min(ofSlow, slowRoom(state));
  return [...share(state, quick, room - roomOfSlow), ...share(state, slow, roomOfSlow)];
}

function share(state: State, queues: Set<EndpointQueue>, room: number): Share[] {
  const each = Math.max(1, Math.floor(room / Math.max(1, queues.size)));
  const shares: Share[] = [];
  const inOrder = [...queues];
  let left = room;
  for (const queue of inOrder) {
    if (left <= 0) break;
    const status = nextStatusOf(queue);
    if (status === null) throw new Error('A queue is claimable and the database has no more.');
    const taken = Math.min(roomOf(queue, state.limits.maxPerEndpoint), each, left);
    left -= taken;
    shares.push({ queue, status, room: taken });
    // It goes to the end, if there is more of another status.
    queues.delete(queue);
    change(state, queue, () => (queue.more[status] = false));
  }
  return shares;
}

function forgetIdle({ queues }: State): void {
  if (queues.size <= QUEUES_REMEMBERED) return;
  for (const [key, queue] of queues)
    if (heldBy(queue) + queue.unwritten === 0 && nextStatusOf(queue) === null) queues.delete(key);
}

/** Changes a queue, and keeps the sets and counts right. It goes to the end of its new sets. */
function change<Result>(state: State, queue: EndpointQueue, make: () => Result): Result {
  const { held, ready, claimable, limits } = state;
  held[speedOf(queue)] -= heldBy(queue);
  const result = make();
  held[speedOf(queue)] += heldBy(queue);
  keep(ready, queue, isReady(queue));
  const hasRoom = roomOf(queue, limits.maxPerEndpoint) > 0;
  const isClaimable = hasRoom && nextStatusOf(queue) !== null;
  keep(claimable.quick, queue, isClaimable && !queue.isSlow);
  keep(claimable.slow, queue, isClaimable && queue.isSlow);
  return result;
}

function speedOf({ isSlow }: EndpointQueue): Speed {
  return isSlow ? 'slow' : 'quick';
}

function keep(set: Set<EndpointQueue>, queue: EndpointQueue, isIn: boolean): void {
  if (isIn) set.add(queue);
  else set.delete(queue);
}
