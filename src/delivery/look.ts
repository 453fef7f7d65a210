/**
 * Where a loop's look for events that wait for their fan-out begins. An index gives these. While an
 * old transaction is open, of a backup for instance, Postgres keeps the entries of those that are
 * done, and each look would pass over all of them: 0.3 ms for a thousand, so that a loop that looks
 * twice a second would stand still after some millions.
 *
 * So a look begins a little before the oldest event that it took, or before now. What waits before
 * that, because the loop has just begun, or because it was committed late or by a machine whose
 * clock is behind, is found by a look at all events. It runs beside the rounds, every half minute:
 * no delivery waits for it, nor ends with it if it takes too long.
 */
import type { Clock } from '../core/clock.ts';

export interface Look {
  /** No event before this moment waits, as far as is known. */
  fromMs: number;
  /** The tick of the last look at all events. */
  wholeAt: number;
  /** Where the look for teams goes on, towards older events; null: at the newest. */
  before: string | null;
}

/** Longer than a transaction may take, and than clocks usually differ. */
const LATE_MAX_MS = 120_000;
/** The same where only our clock tells the time. */
const IDLE_MAX_MS = 600_000;
/** Of ticks: a half minute. */
const WHOLE_EVERY_TICKS = 60;

export function newLook(clock: Clock): Look {
  const fromMs = clock.now().getTime() - IDLE_MAX_MS;
  return { fromMs, wholeAt: -Infinity, before: null };
}

/** What a look that began at `fromMs` has taken. */
export interface Seen {
  readonly fromMs: number;
  /** When the oldest of these events was created; undefined: there was none. */
  readonly oldest: string | undefined;
  /** Whether it has taken all that wait. */
  readonly isAll: boolean;
}

/** Begins the next look where events may wait: the oldest one is always among those taken. */
export function endLook(look: Look, { fromMs, oldest, isAll }: Seen, clock: Clock): void {
  // One at all events has found others meanwhile.
  if (look.fromMs < fromMs) return;
  const nowMs = clock.now().getTime();
  // An event of a machine whose clock is ahead says nothing about the others.
  const oldestMs = oldest === undefined ? -Infinity : Math.min(Date.parse(oldest), nowMs);
  look.fromMs = Math.max(fromMs, oldestMs - LATE_MAX_MS, isAll ? nowMs - IDLE_MAX_MS : -Infinity);
}

/** Whether it is time for a look at all events. If so, it is counted as begun. */
export function beginWhole(look: Look, ticks: number): boolean {
  if (ticks - look.wholeAt < WHOLE_EVERY_TICKS) return false;
  look.wholeAt = ticks;
  return true;
}
