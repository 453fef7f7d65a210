/** The deliveries to one endpoint that this worker has claimed. No clock and no IO of its own. */
import type { ClaimedDelivery } from './claim-store.ts';
import { WAITING_STATUSES, waitsAs, type WaitingStatus } from './waiting-store.ts';

/** Only the functions of queues.ts change it. */
export interface EndpointQueue {
  readonly teamId: string;
  readonly endpointId: string;
  /** Claimed and not launched, in launch order: requested ones, first attempts, retries. */
  readonly waiting: WaitingDelivery[];
  inFlight: number;
  /** Results that wait to be written. */
  unwritten: number;
  /** How many attempts may be in flight. */
  cap: number;
  /** The last attempt was slow, or one in flight is. */
  isSlow: boolean;
  /** When it last had `cap` attempts in flight. */
  atLimitMs: number;
  /** Whether the database has more deliveries of this status, as far as is known. */
  readonly more: Record<WaitingStatus, boolean>;
}

interface WaitingDelivery {
  readonly row: ClaimedDelivery;
  readonly claimedAtMs: number;
}

/** An attempt in flight. */
export interface Flight {
  readonly row: ClaimedDelivery;
  readonly queue: EndpointQueue;
  readonly startedAtMs: number;
}

/** A healthy receiver answers within this time. */
export const SLOW_MS = 250;

/** How an attempt went, as far as the endpoint's pace is concerned. */
export type Pace = 'good' | 'failed' | 'timeout';

/** An endpoint with its full cap may have this many times its cap in memory; see roomOf. */
const HELD_PER_CAP = 4;

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
    atLimitMs: -Infinity,
    more: { requested: false, pending: false, retrying: false },
  };
}

/** Inserts a delivery behind all others of the same rank. */
export function addWaiting({ waiting }: EndpointQueue, added: WaitingDelivery): void {
  const rank = rankOf(added.row);
  const at = waiting.findIndex(({ row }) => rankOf(row) > rank);
  waiting.splice(at < 0 ? waiting.length : at, 0, added);
}

/** How many deliveries it has in memory: those that wait, and those in flight. */
export function heldBy({ waiting, inFlight }: EndpointQueue): number {
  return waiting.length + inFlight;
}

/** Whether it can launch its next delivery. */
export function isReady({ waiting, inFlight, unwritten, cap }: EndpointQueue): boolean {
  return waiting.length > 0 && inFlight < cap && unwritten < UNWRITTEN_MAX;
}

/** Launches the next delivery. The queue must be ready. */
export function launch(queue: EndpointQueue, nowMs: number): Flight {
  const delivery = queue.waiting.shift();
  if (!delivery) throw new Error('Nothing waits in this queue.');
  queue.inFlight += 1;
  if (queue.inFlight >= queue.cap) queue.atLimitMs = nowMs;
  return { row: delivery.row, queue, startedAtMs: nowMs };
}

/** Ends an attempt. */
export function land(
  { queue, startedAtMs }: Flight,
  { pace, nowMs, maxPerEndpoint }: { pace: Pace; nowMs: number; maxPerEndpoint: number },
): void {
  if (queue.inFlight >= queue.cap) queue.atLimitMs = nowMs;
  queue.inFlight -= 1;
  queue.isSlow = pace === 'timeout' || nowMs - startedAtMs >= SLOW_MS;
  queue.cap = capAfter(queue.cap, pace, maxPerEndpoint);
}

/** The status to claim next: requested attempts before first ones, and these before retries. */
export function nextStatusOf({ more }: EndpointQueue): WaitingStatus | null {
  return WAITING_STATUSES.find((status) => more[status]) ?? null;
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
function capAfter(cap: number, pace: Pace, maxPerEndpoint: number): number {
  if (pace === 'good') return Math.min(maxPerEndpoint, cap * 2);
  return pace === 'timeout' ? 1 : Math.max(1, cap >> 1);
}

/**
 * How many more deliveries of this endpoint to claim at most. One with its full cap may have some
 * that wait: for three quick attempts at most, so each is launched within the second for which a
 * claim is valid.
 */
export function roomOf(queue: EndpointQueue, maxPerEndpoint: number): number {
  const { cap, isSlow, unwritten } = queue;
  if (unwritten >= UNWRITTEN_MAX) return 0;
  const wanted = cap === maxPerEndpoint && !isSlow ? cap * HELD_PER_CAP : cap;
  return Math.max(0, wanted - heldBy(queue));
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
