/** Cancels the timer that returned it. A timer that has run, or was cancelled, ignores it. */
export type Cancel = () => void;

/**
 * The source of the current time, and of timers. All decisions use it, so that tests can pass their
 * own.
 */
export interface Clock {
  now(): Date;
  /**
   * The time that the functions in the database use instead of the database's clock. null in
   * production: all processes share the database's clock for rate limits and expiry.
   */
  override(): Date | null;
  /** Milliseconds of a clock that never jumps. Only differences of readings have a meaning. */
  monotonicMs(): number;
  /** Calls `run` once, in `ms`. The timer does not keep the process alive. */
  after(ms: number, run: () => void): Cancel;
  /** Calls `run` each `ms`. The timer does not keep the process alive. */
  every(ms: number, run: () => void): Cancel;
  /** Resolves in `ms`, or as soon as `signal` aborts; never rejects. Keeps the process alive. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

type Timers = Pick<Clock, 'monotonicMs' | 'after' | 'every' | 'wait'>;

const systemTimers: Timers = {
  monotonicMs: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
  every: (ms, run) => {
    const timer = setInterval(run, ms).unref();
    return () => clearInterval(timer);
  },
  wait: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
    }),
};

export const systemClock: Clock = {
  now: () => new Date(),
  override: () => null,
  ...systemTimers,
};

interface Settable {
  set(now: Date): void;
  advance(ms: number): void;
}

/** A clock for tests. It stands still until it is set or advanced; its timers are the system's. */
export function fixedClock(start: Date): Clock & Settable {
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
    ...systemTimers,
  };
}
