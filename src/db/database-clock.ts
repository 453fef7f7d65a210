/** The database's clock, for what processes with clocks of their own must agree on. */
import type { Clock } from '../core/clock.ts';
import { statement, type Db } from './client.ts';

// Cut, because a rounded time would be of the future.
const READ = statement<{ readonly at: string }>(
  'clock.read',
  `select date_trunc('milliseconds', now()) as at`,
);

/**
 * Returns the time of the database's clock; in a transaction, that of its beginning. `override`:
 * `clock.override()`.
 */
export async function databaseTime(db: Db, override: Date | null): Promise<Date> {
  if (override) return override;
  const row = await db.queryFirst(READ, []);
  if (!row) throw new Error('a time returned no row');
  return new Date(row.at);
}

/** The clock of a process that goes by the database's as soon as it has heard of it. */
export interface FollowingClock extends Clock {
  /** Notes that the database answered now with its time, to what was sent at `askedMs`. */
  hear(answered: Date | string, askedMs: number): void;
}

/**
 * Returns a clock that goes by what it hears, and before that by `clock`. It is behind the
 * database's time by what the quickest answer took, and never ahead: what another process has
 * written is not later.
 */
export function followingClock(clock: Clock): FollowingClock {
  /** The database's time when the monotonic one was 0. */
  let startMs: number | null = null;
  return {
    ...clock,
    now: () => (startMs === null ? clock.now() : new Date(startMs + clock.monotonicMs())),
    hear: (answered, askedMs) => {
      if (clock.override()) return;
      const databaseMs = new Date(answered).getTime();
      const leastMs = databaseMs - clock.monotonicMs();
      startMs = Math.min(Math.max(startMs ?? leastMs, leastMs), databaseMs - askedMs);
    },
  };
}

/** Returns a clock that has heard the database's time, for a job of minutes. */
export async function databaseClock(db: Db, clock: Clock): Promise<Clock> {
  const following = followingClock(clock);
  const askedMs = clock.monotonicMs();
  if (!clock.override()) following.hear(await databaseTime(db, null), askedMs);
  return following;
}

/**
 * Returns the time by which a job judges what is old enough to be removed: the earlier one of its
 * own clock and the database's. What is removed cannot be brought back, so no clock that is ahead
 * may decide it alone. A clock that is behind only lets it wait.
 */
export async function removalTime(db: Db, clock: Clock): Promise<Date> {
  const time = await databaseTime(db, clock.override());
  return new Date(Math.min(time.getTime(), clock.now().getTime()));
}
