/**
 * Who is attempted next: this worker's deliveries in memory, one lane an endpoint. Pure bookkeeping, no clock and no IO of its own.
 *
 *  * Lanes take turns, so an endpoint with much to do is no better off than one with a single delivery. Lanes with a first attempt go before lanes that
 *    only have retries, and lanes whose last attempts dragged on come last.
 *  * A lane has at most `cap` attempts in flight. It begins with one, doubles with each success up to the limit, halves with each failure, and a timeout
 *    brings it back to one: an endpoint that never answers holds one place, not eight.
 *  * An attempt that is silent for a while is *parked*: it goes on, but gives its slot to others. So any number of endpoints that hang leaves the slots to those
 *    that answer; parked attempts are bounded only to bound memory.
 *  * `ask` says what to claim next: a share for each lane that the database has more of, in turns, and no more in all than the slots will soon need.
 */
import { KINDS, type ClaimedRow, type Kind } from './store.ts';

export interface Lane {
  readonly teamId: string;
  readonly endpointId: string;
  readonly queue: Waiting[];
  inFlight: number;
  cap: number;
  /** An attempt was parked, and none has been quick since. */
  isSlow: boolean;
  /** The database has more of it than this worker took, as far as is known. */
  readonly more: Record<Kind, boolean>;
  /** In which line it stands. */
  turn: Turn | null;
}

interface Waiting {
  readonly row: ClaimedRow;
  readonly claimedAtMs: number;
}

export interface Flight {
  readonly row: ClaimedRow;
  readonly lane: Lane;
  readonly startedAtMs: number;
  isParked: boolean;
}

export interface Limits {
  readonly concurrency: number;
  readonly maxPerEndpoint: number;
}

/** How an attempt went, as far as the lane's pace is concerned. */
export type Pace = 'good' | 'failed' | 'timeout';

export interface Share {
  readonly lane: Lane;
  readonly room: number;
}

type Turn = 'first' | 'retry' | 'slow';

const PARKED_PER_SLOT = 20;
/**
 * How much is in hand: what was launched in about the last tenth of a second, so that a claim for more comes back in time, and at least some for each slot.
 * Of one endpoint that goes well some caps: what waits for its cap waits for at most three attempts that were not parked, so it is attempted within the second
 * for which a claim is good, and it takes less than the slots leave: lanes with room never wait for it.
 */
const IN_HAND_PER_SLOT = { least: 4, most: 40 };
const IN_HAND_PER_CAP = 4;
const LANES_REMEMBERED = 10_000;

export function createLanes({ concurrency, maxPerEndpoint }: Limits) {
  const lanes = new Map<string, Lane>();
  const lines: Record<Turn, Set<Lane>> = { first: new Set(), retry: new Set(), slow: new Set() };
  /** Lanes with more in the database and room for it, each for what goes first; those that were asked for longest ago first. */
  const hungry: Record<Kind, Set<Lane>> = { pending: new Set(), retrying: new Set() };
  const flights = new Set<Flight>();
  let queued = 0;
  let parked = 0;
  let launched = 0;
  let inHandMax = concurrency * IN_HAND_PER_SLOT.least;

  const active = (): number => flights.size - parked;

  const laneOf = (teamId: string, endpointId: string): Lane => {
    const key = keyOf(teamId, endpointId);
    const known = lanes.get(key);
    if (known) return known;
    const more = { pending: false, retrying: false };
    const lane: Lane = { teamId, endpointId, queue: [], inFlight: 0, cap: 1, isSlow: false, more, turn: null };
    lanes.set(key, lane);
    return lane;
  };

  const roomOf = (lane: Lane): number => {
    const wanted = lane.cap === maxPerEndpoint && !lane.isSlow ? lane.cap * IN_HAND_PER_CAP : lane.cap;
    return Math.max(0, wanted - lane.inFlight - lane.queue.length);
  };

  // Asked for in gulps, unless slots are idle: a claim for each delivery that ends would cost more than the delivery.
  const capacity = (): number => {
    const left = Math.max(0, inHandMax - active() - queued);
    return active() < concurrency || left >= inHandMax / 4 ? left : 0;
  };

  /** Puts the lane where it belongs, after whatever changed. */
  const place = (lane: Lane): void => {
    const turn = turnOf(lane);
    if (turn !== lane.turn) {
      if (lane.turn) lines[lane.turn].delete(lane);
      if (turn) lines[turn].add(lane);
      lane.turn = turn;
    }
    const kind = roomOf(lane) === 0 ? null : lane.more.pending ? 'pending' : lane.more.retrying ? 'retrying' : null;
    for (const each of KINDS) {
      if (each === kind) hungry[each].add(lane);
      else hungry[each].delete(lane);
    }
  };

  const setMore = (lane: Lane, kind: Kind): void => {
    lane.more[kind] = true;
    place(lane);
  };

  return {
    laneOf,
    roomOf,
    capacity,
    setMore,
    flights: flights as ReadonlySet<Flight>,
    stats: () => ({ inFlight: flights.size, parked, queued }),
    queuedIds: (): string[] => [...lanes.values()].flatMap((lane) => lane.queue.map(({ row }) => row.id)),

    accept: (row: ClaimedRow, claimedAtMs: number): void => {
      const lane = laneOf(row.team_id, row.endpoint_id);
      const rank = rankOf(row);
      const at = lane.queue.findIndex((other) => rankOf(other.row) > rank);
      lane.queue.splice(at < 0 ? lane.queue.length : at, 0, { row, claimedAtMs });
      queued += 1;
      place(lane);
    },

    /** The next delivery to attempt, or null while every slot is taken or nothing waits. */
    next: (nowMs: number): Flight | null => {
      if (active() >= concurrency) return null;
      const [lane] = lines.first.size > 0 ? lines.first : lines.retry.size > 0 ? lines.retry : lines.slow;
      const waiting = lane?.queue.shift();
      if (!lane || !waiting) return null;
      queued -= 1;
      launched += 1;
      lane.inFlight += 1;
      const flight: Flight = { row: waiting.row, lane, startedAtMs: nowMs, isParked: false };
      flights.add(flight);
      // To the end of its line, should it have more.
      if (lane.turn) lines[lane.turn].delete(lane);
      lane.turn = null;
      place(lane);
      return flight;
    },

    /** Twenty times a second: takes the slot from attempts that have been silent since before `sinceMs`. Answers whether there were any. */
    park: (sinceMs: number): boolean => {
      const { least, most } = IN_HAND_PER_SLOT;
      inHandMax = Math.ceil(Math.min(concurrency * most, Math.max(concurrency * least, launched)));
      launched /= 2;
      const parkedBefore = parked;
      for (const flight of flights) {
        // They stand in the order in which they began.
        if (flight.startedAtMs > sinceMs || parked >= concurrency * PARKED_PER_SLOT) break;
        if (flight.isParked) continue;
        flight.isParked = true;
        flight.lane.isSlow = true;
        parked += 1;
        place(flight.lane);
      }
      return parked > parkedBefore;
    },

    land: (flight: Flight, pace: Pace): void => {
      const { lane } = flight;
      flights.delete(flight);
      if (flight.isParked) parked -= 1;
      lane.isSlow = flight.isParked || pace === 'timeout';
      lane.inFlight -= 1;
      if (pace === 'good') lane.cap = Math.min(maxPerEndpoint, lane.cap * 2);
      else lane.cap = pace === 'timeout' ? 1 : Math.max(1, lane.cap >> 1);
      place(lane);
    },

    /** Takes out of the queues what was claimed before `sinceMs`, and what a slow lane cannot launch now. */
    withdraw: (sinceMs: number): ClaimedRow[] => {
      const taken: ClaimedRow[] = [];
      for (const lane of lanes.values()) {
        if (lane.queue.length === 0) continue;
        const launchable = lane.isSlow ? Math.max(0, lane.cap - lane.inFlight) : Infinity;
        const kept = lane.queue.filter(({ claimedAtMs }) => claimedAtMs >= sinceMs).slice(0, launchable);
        if (kept.length === lane.queue.length) continue;
        const staying = new Set(kept);
        for (const waiting of lane.queue) {
          if (staying.has(waiting)) continue;
          taken.push(waiting.row);
          lane.more[waiting.row.status === 'pending' ? 'pending' : 'retrying'] = true;
        }
        queued -= lane.queue.length - kept.length;
        lane.queue.splice(0, lane.queue.length, ...kept);
        place(lane);
      }
      return taken;
    },

    /** Whether `ask` has anything to ask for. */
    isHungry: (): boolean => (hungry.pending.size > 0 || hungry.retrying.size > 0) && capacity() > 0,

    /** What to claim. A lane that is asked for counts as empty until `setMore`: when all of its share came, there may be more. */
    ask: (kind: Kind): Share[] => {
      let left = capacity();
      const each = Math.max(1, Math.floor(left / Math.max(1, hungry[kind].size)));
      const shares: Share[] = [];
      for (const lane of hungry[kind]) {
        if (left === 0) break;
        const room = Math.min(roomOf(lane), each, left);
        left -= room;
        shares.push({ lane, room });
      }
      for (const { lane } of shares) {
        lane.more[kind] = false;
        place(lane);
      }
      return shares;
    },

    /** Forgets endpoints of which nothing is in hand, when they have become many. */
    forgetIdle: (): void => {
      if (lanes.size <= LANES_REMEMBERED) return;
      for (const [key, lane] of lanes) {
        if (lane.inFlight === 0 && lane.queue.length === 0 && KINDS.every((kind) => !lane.more[kind]))
          lanes.delete(key);
      }
    },
  };
}

export type Lanes = ReturnType<typeof createLanes>;

const keyOf = (teamId: string, endpointId: string): string => `${teamId}\n${endpointId}`;

/** What was asked for goes before first attempts, these before retries. */
function rankOf(row: ClaimedRow): number {
  if (row.urgent) return 0;
  return row.attempt === 0 ? 1 : 2;
}

function turnOf(lane: Lane): Turn | null {
  const [head] = lane.queue;
  if (!head || lane.inFlight >= lane.cap) return null;
  if (lane.isSlow && !head.row.urgent) return 'slow';
  return rankOf(head.row) < 2 ? 'first' : 'retry';
}
