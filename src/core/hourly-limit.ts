import { ProblemError } from './problem.ts';

export const HOUR_MS = 3_600_000;

/**
 * Throws `rate_limited` unless `limitingAt` is null: the ISO time of the oldest of the last n calls
 * of a limit of n an hour, or null if there were fewer in the hour before `now`. Read it under the
 * team's lock.
 */
export function requireBelowHourlyLimit(
  limitingAt: string | null,
  now: Date,
  detail: string,
): void {
  if (limitingAt === null) return;
  const freeAt = Date.parse(limitingAt) + HOUR_MS;
  const retry_after = Math.max(1, Math.ceil((freeAt - now.getTime()) / 1000));
  throw new ProblemError('rate_limited', { retry_after, detail });
}
