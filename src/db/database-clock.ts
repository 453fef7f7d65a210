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

/**
 * Returns a clock that goes on from the database's time, for a job of minutes. It is behind that
 * time by what the answer took, and never ahead: what another process has written is not later.
 */
export async function databaseClock(db: Db, clock: Clock): Promise<Clock> {
  if (clock.override()) return clock;
  const start = await databaseTime(db, null);
  const since = clock.monotonicMs();
  return {
    ...clock,
    now: () => new Date(start.getTime() + clock.monotonicMs() - since),
    override: () => null,
  };
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
