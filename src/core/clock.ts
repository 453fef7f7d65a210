/** Where the service takes the time from. Tests bring their own; nothing else calls `new Date()` for a decision. */
export interface Clock {
  now(): Date;
  /**
   * The time that the database's functions shall use instead of their own clock; null in production, where rate windows and expiry go by the one
   * clock that all processes share.
   */
  override(): Date | null;
}

export const systemClock: Clock = { now: () => new Date(), override: () => null };

/** A clock that stands still until it is set. */
export function fixedClock(
  start: Date,
): Clock & { set(now: Date): void; advance(ms: number): void } {
  let current = start;
  return {
    now: () => current,
    override: () => current,
    set: (now) => {
      current = now;
    },
    advance: (ms) => {
      current = new Date(current.getTime() + ms);
    },
  };
}
