/** The deliveries to one endpoint that this worker has in hand. */
import type { ClaimedDelivery } from './claim-store.ts';
import { WAITING_STATUSES, waitsAs, type WaitingStatus } from './waiting-store.ts';

/**
 * Whether a queue can launch its next delivery, and when it has its turn:
 *  * `blocked`: nothing waits, `cap` attempts are in flight, or UNWRITTEN_MAX results wait.
 *  * `first`: ready, with a requested or a first attempt at its head.
 *  * `retry`: ready, with a retry at its head.
 *  * `slow`: ready, but the endpoint's last attempts took long. It launches after all others.
 */
export type QueueMode = 'blocked' | ReadyMode;
/** The modes of queues that can launch. */
export type ReadyMode = 'first' | 'retry' | 'slow';

/** The fields are written by the functions of endpoint-queues.ts and claim-shares.ts only. */
export interface EndpointQueue {
  readonly teamId: string;
  readonly endpointId: string;
  /**
   * Claimed and not launched, in launch order: requested ones, first attempts, retries.
   * Written by accept, next and withdraw; read by modeOf and roomOf.
   */
  readonly waiting: WaitingDelivery[];
  /** Attempts in flight, parked ones included. Written by next and land; read like `waiting`. */
  inFlight: number;
  /** Results that wait to be written. Written by addUnwritten; read like `waiting`. */
  unwritten: number;
  /** How many attempts may be in flight. Written by land; read like `waiting`. */
  cap: number;
  /**
   * An attempt was parked or timed out, and none was quick since. Written by park and land; read by
   * modeOf, roomOf and withdraw.
   */
  isSlow: boolean;
  /** How many wait that will be parked, as `reindex` last counted them. Only reindex uses it. */
  waitsSlow: number;
  /** When it last had `cap` attempts in flight. Written by next and land; read by isAtLimit. */
  atLimitMs: number;
  /**
   * Whether the database has more deliveries of this status than this worker took, as far as is
   * known. Written by setMore, takeShares and withdraw; read by reindex, forgetIdle and the
   * fan-out.
   */
  readonly more: Record<WaitingStatus, boolean>;
  /** The set of `ready` queues that holds it. Written by reindex and next; read by reindex. */
  mode: QueueMode;
}

interface WaitingDelivery {
  readonly row: ClaimedDelivery;
  readonly claimedAtMs: number;
}

/** An attempt in flight, from `next` to `land`. */
export interface Flight {
  readonly row: ClaimedDelivery;
  readonly queue: EndpointQueue;
  readonly startedAtMs: number;
  /** The attempt holds no slot. Set by next for a slow queue, and by park; never reset. */
  isParked: boolean;
  /** It has taken long. Set by park, and never reset. */
  isSilent: boolean;
}

/** How an attempt went, as far as the endpoint's pace is concerned. */
export type Pace = 'good' | 'failed' | 'timeout';

/** An endpoint at its full cap may have this many times its cap in hand; see roomOf. */
const IN_HAND_PER_CAP = 4;

/**
 * While so many results of an endpoint wait to be written, nothing is attempted there: somebody has
 * locked its rows for long. Results that are not locked wait for 20 ms.
 */
const UNWRITTEN_MAX = 100;

/** An empty queue. Its cap is one, so that its first attempt goes alone. */
export function newQueue(teamId: string, endpointId: string): EndpointQueue {
  return {
    teamId,
    endpointId,
    waiting: [],
    inFlight: 0,
    unwritten: 0,
    cap: 1,
    isSlow: false,
    waitsSlow: 0,
    atLimitMs: -Infinity,
    more: { requested: false, pending: false, retrying: false },
    mode: 'blocked',
  };
}

/** Inserts a delivery behind all others of the same rank. */
export function insertWaiting({ waiting }: EndpointQueue, added: WaitingDelivery): void {
  const rank = rankOf(added.row);
  const at = waiting.findIndex(({ row }) => rankOf(row) > rank);
  waiting.splice(at < 0 ? waiting.length : at, 0, added);
}

/** The mode that follows from the other fields. */
export function modeOf({ waiting, inFlight, unwritten, cap, isSlow }: EndpointQueue): QueueMode {
  const [head] = waiting;
  if (!head || inFlight >= cap || unwritten >= UNWRITTEN_MAX) return 'blocked';
  if (isSlow && !head.row.urgent) return 'slow';
  return waitsAs(head.row) === 'retrying' ? 'retry' : 'first';
}

/** After an attempt, the next one is claimed and launched within this time. */
const LIMIT_LASTS_MS = 5_000;

/**
 * Whether the endpoint's own limit holds its deliveries back: as many attempts as it may have are
 * in flight, or were a moment ago. What waits there is not late by a fault of this worker.
 */
export function isAtLimit({ inFlight, cap, atLimitMs }: EndpointQueue, nowMs: number): boolean {
  return inFlight >= cap || atLimitMs > nowMs - LIMIT_LASTS_MS;
}

/** The order within an endpoint. */
function rankOf(row: ClaimedDelivery): number {
  return WAITING_STATUSES.indexOf(waitsAs(row));
}

/** The cap after an attempt: a success doubles it, a failure halves it, a timeout makes it one. */
export function capAfter(cap: number, pace: Pace, maxPerEndpoint: number): number {
  if (pace === 'good') return Math.min(maxPerEndpoint, cap * 2);
  return pace === 'timeout' ? 1 : Math.max(1, cap >> 1);
}

/**
 * How many more deliveries of this endpoint to claim at most.
 *
 * An endpoint at its full cap may have several caps in hand. A delivery that waits for the cap then
 * waits for at most three attempts that were not parked. So it is launched within the second for
 * which a claim is valid. These deliveries take less than the slots leave over, so queues that are
 * ready never wait for them.
 */
export function roomOf(queue: EndpointQueue, maxPerEndpoint: number): number {
  const { cap, isSlow, inFlight, unwritten, waiting } = queue;
  if (unwritten >= UNWRITTEN_MAX) return 0;
  const wanted = cap === maxPerEndpoint && !isSlow ? cap * IN_HAND_PER_CAP : cap;
  return Math.max(0, wanted - inFlight - waiting.length);
}

/**
 * Takes out and returns what was claimed before `sinceMs`, and what a slow endpoint cannot launch
 * now. These deliveries go back to the database, so `more` becomes true for their statuses.
 */
export function withdrawFrom(queue: EndpointQueue, sinceMs: number): ClaimedDelivery[] {
  const { waiting } = queue;
  if (waiting.length === 0) return [];
  const launchable = queue.isSlow ? Math.max(0, queue.cap - queue.inFlight) : Infinity;
  const kept = waiting.filter(({ claimedAtMs }) => claimedAtMs >= sinceMs).slice(0, launchable);
  if (kept.length === waiting.length) return [];
  const staying = new Set(kept);
  const taken = waiting.filter((each) => !staying.has(each)).map(({ row }) => row);
  for (const row of taken) queue.more[waitsAs(row)] = true;
  waiting.splice(0, waiting.length, ...kept);
  return taken;
}
