/** The source of the current time. All decisions use it, so that tests can pass their own. */
export interface Clock {
  now(): Date;
  /**
   * The time that the functions in the database use instead of the database's clock. null in
   * production: all processes share the database's clock for rate limits and expiry.
   */
  override(): Date | null;
}

export const systemClock: Clock = { now: () => new Date(), override: () => null };

/** A clock for tests. It stands still until it is set or advanced. */
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
