/**
 * Pauses endpoints to which no delivery succeeded for three days. The three days begin at the first
 * failed attempt in an hour (UTC) after that of the last success, which the delivery loop keeps in
 * `failing_since`. An endpoint at which nothing was attempted lately is not paused: there was no
 * traffic, or no worker.
 */
import type { Clock } from '../../core/clock.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import type { Db } from '../../db/client.ts';
import { pauseEndpoints } from './pause-store.ts';

/** The first failure of an hour must be as young. The pause looks each minute. */
const FAILED_WITHIN_MS = 2 * 3_600_000;

/** Pauses the active endpoints that have been failing for `pauseAfterS`. Returns how many. */
export async function pauseSilentEndpoints(
  db: Db,
  clock: Clock,
  pauseAfterS: number,
): Promise<number> {
  const now = clock.now();
  const failingUntil = new Date(now.getTime() - pauseAfterS * 1000);
  return pauseEndpoints(db, {
    failingUntil,
    failedAfter: new Date(now.getTime() - FAILED_WITHIN_MS),
    now,
    auditId: newId('auditEntry'),
    requestId: newRequestId(),
  });
}
