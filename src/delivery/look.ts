/**
 * Where a loop's look for events that wait for their fan-out begins. An index gives these. While an
 * old transaction is open, of a backup for instance, Postgres keeps the entries of those that are
 * done, and each look would pass over all of them: 0.3 ms for a thousand, so that a loop that looks
 * twice a second would stand still after some millions.
 *
 * So a look begins a little before the last event that was done. What waits before that, because it
 * was committed late or by a machine whose clock is behind, is found by a look at all events, every
 * half minute.
 */
import type { Clock } from '../core/clock.ts';

/** Written by the functions of this file. */
export interface Look {
  /** No event before this moment waits, as far as is known; ISO, or null. */
  from: string | null;
  /** Whether the next look begins with the first event. */
  isWhole: boolean;
}

/** Longer than a transaction may take, and than clocks usually differ. */
const LATE_MAX_MS = 120_000;

/** Of ticks: a half minute. */
const WHOLE_EVERY_TICKS = 60;

export function newLook(): Look {
  return { from: null, isWhole: true };
}

/** Has the next look begin with the first event, now and then. */
export function widenLook(look: Look, ticks: number): void {
  if (ticks % WHOLE_EVERY_TICKS === 0) look.isWhole = true;
}

/** Begins a look: returns the moment to begin with; null: with the first event. */
// One that fails is not begun again at once.
export function beginLook(look: Look): string | null {
  const from = look.isWhole ? null : look.from;
  look.isWhole = false;
  return from;
}

/** What a look that began with `from` has taken, in the order of time. */
export interface Seen {
  readonly from: string | null;
  /** When the last of these events was created; undefined: there was none. */
  readonly last: string | undefined;
  /** Whether it has taken all that wait. */
  readonly isAll: boolean;
}

/** Notes that the events before those that a look has taken are done. */
export function endLook(look: Look, { from, last, isAll }: Seen, clock: Clock): void {
  const before = isAll ? look.from : from;
  // One of a machine whose clock is ahead says nothing about the others.
  const reached = last && Math.min(Date.parse(last), clock.now().getTime()) - LATE_MAX_MS;
  const after = reached === undefined ? null : new Date(reached).toISOString();
  look.from = before !== null && (after === null || before > after) ? before : after;
}
