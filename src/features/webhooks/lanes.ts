/**
 * Who is attempted next: this worker's deliveries in memory, one lane an endpoint. Pure bookkeeping, no clock and no IO of its own.
 *
 *  * Lanes take turns, so an endpoint with much to do is no better off than one with a single delivery. Lanes with a first attempt go before lanes that
 *    only have retries.
 *  * A lane has at most `cap` attempts in flight. It begins with a few, doubles with each success up to the limit, and goes down to one when attempts time out
 *    or drag on: an endpoint that never answers holds one place, not eight.
 *  * An attempt that is silent for a while is *parked*: it goes on, but gives its slot to others. So any number of endpoints that hang leaves the slots to those
 *    that answer; parked attempts are bounded only to bound memory.
 */
import type { ClaimedRow } from './delivery-store.ts';

export interface Lane {
  readonly teamId: string;
  readonly endpointId: string;
  readonly queue: Delivery[];
  inFlight: number;
  cap: number;
  /** The database has more of it than this worker took, as far as is known. */
  hasMore: boolean;
  /** In which list of lanes it stands. */
  waitsIn: 'first' | 'retry' | null;
}

export interface Delivery extends ClaimedRow {
  readonly claimedAtMs: number;
}

export interface Flight {
  readonly delivery: Delivery;
  readonly lane: Lane;
  readonly startedAtMs: number;
  parked: boolean;
}

export interface Limits {
  readonly concurrency: number;
  readonly maxPerEndpoint: number;
}

/** How an attempt went, as far as the lane's pace is concerned. */
export type Pace = 'good' | 'failed' | 'dragged';

const FIRST_CAP = 2;
const PARKED_PER_SLOT = 20;
/** How much of a quick endpoint with a backlog is taken ahead, in caps. */
const PREFETCH_CAPS = 8;

export function createLanes({ concurrency, maxPerEndpoint }: Limits) {
  const lanes = new Map<string, Lane>();
  const waiting = { first: [] as Lane[], retry: [] as Lane[] };
  const flights = new Set<Flight>();
  let queued = 0;
  let parked = 0;

  const enlist = (lane: Lane): void => {
    const [next] = lane.queue;
    if (!next || lane.waitsIn || lane.inFlight >= lane.cap) return;
    lane.waitsIn = next.attempt === 0 || next.urgent ? 'first' : 'retry';
    waiting[lane.waitsIn].push(lane);
  };

  const laneOf = (teamId: string, endpointId: string): Lane => {
    const key = `${teamId}\n${endpointId}`;
    const known = lanes.get(key);
    if (known) return known;
    const cap = Math.min(FIRST_CAP, maxPerEndpoint);
    const lane: Lane = { teamId, endpointId, queue: [], inFlight: 0, cap, hasMore: false, waitsIn: null };
    lanes.set(key, lane);
    return lane;
  };

  /** How many more deliveries of the lane are wanted. */
  const roomOf = (lane: Lane): number => {
    const wanted = lane.cap === maxPerEndpoint ? lane.cap * PREFETCH_CAPS : lane.cap;
    return Math.max(0, wanted - lane.inFlight - lane.queue.length);
  };

  return {
    laneOf,
    roomOf,
    flights: flights as ReadonlySet<Flight>,
    defaultRoom: Math.min(FIRST_CAP, maxPerEndpoint),
    lanes: () => lanes.values(),
    stats: () => ({ inFlight: flights.size, parked, queued }),

    /** How many more deliveries this worker should take at all. */
    capacity: (): number => Math.max(0, concurrency * 2 - (flights.size - parked) - queued),

    accept: (delivery: Delivery): void => {
      const lane = laneOf(delivery.team_id, delivery.endpoint_id);
      // What was asked for, and first attempts, overtake retries.
      const place = delivery.attempt === 0 || delivery.urgent ? lane.queue.findIndex((other) => other.attempt > 0 && !other.urgent) : -1;
      if (place < 0) lane.queue.push(delivery);
      else lane.queue.splice(place, 0, delivery);
      queued += 1;
      enlist(lane);
    },

    /** The next delivery to attempt, or null while every slot is taken or nothing waits. */
    next: (nowMs: number): Flight | null => {
      if (flights.size - parked >= concurrency) return null;
      const lane = waiting.first.shift() ?? waiting.retry.shift();
      const delivery = lane?.queue.shift();
      if (!lane || !delivery) return null;
      queued -= 1;
      lane.waitsIn = null;
      lane.inFlight += 1;
      enlist(lane);
      const flight: Flight = { delivery, lane, startedAtMs: nowMs, parked: false };
      flights.add(flight);
      return flight;
    },

    /** Takes the slot from attempts that have been silent since before `sinceMs`. */
    park: (sinceMs: number): void => {
      for (const flight of flights) {
        if (flight.parked || flight.startedAtMs > sinceMs) continue;
        if (parked >= concurrency * PARKED_PER_SLOT) return;
        flight.parked = true;
        flight.lane.cap = 1;
        parked += 1;
      }
    },

    land: (flight: Flight, pace: Pace): void => {
      const { lane } = flight;
      flights.delete(flight);
      if (flight.parked) parked -= 1;
      lane.inFlight -= 1;
      if (pace === 'good') lane.cap = Math.min(maxPerEndpoint, lane.cap * 2);
      else lane.cap = pace === 'dragged' ? 1 : Math.max(1, lane.cap >> 1);
      enlist(lane);
      if (lane.inFlight === 0 && lane.queue.length === 0 && !lane.hasMore && pace === 'good' && lanes.size > 10_000) lanes.delete(`${lane.teamId}\n${lane.endpointId}`);
    },

    /** Takes out of the queues what fits, for instance what has waited so long that its endpoint may have changed. */
    withdraw: (fits: (delivery: Delivery) => boolean): Delivery[] => {
      const taken: Delivery[] = [];
      for (const lane of lanes.values()) {
        if (lane.queue.length === 0) continue;
        const kept = lane.queue.filter((delivery) => !fits(delivery) || (taken.push(delivery), false));
        if (kept.length === lane.queue.length) continue;
        queued -= lane.queue.length - kept.length;
        lane.queue.splice(0, lane.queue.length, ...kept);
        lane.hasMore = true;
        if (lane.waitsIn && kept.length === 0) {
          waiting[lane.waitsIn].splice(waiting[lane.waitsIn].indexOf(lane), 1);
          lane.waitsIn = null;
        }
      }
      return taken;
    },
  };
}

export type Lanes = ReturnType<typeof createLanes>;
