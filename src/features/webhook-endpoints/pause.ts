/**
 * Pauses endpoints to which no delivery succeeded for three days. The three days begin at the first
 * failed attempt after the last success, which the delivery loop keeps in `failing_since`. An
 * endpoint without traffic is not paused.
 */
import type { Clock } from '../../core/clock.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import type { Db } from '../../db/client.ts';
import { pauseEndpoints } from './pause-store.ts';

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
    now,
    auditId: newId('auditEntry'),
    requestId: newRequestId(),
  });
}
