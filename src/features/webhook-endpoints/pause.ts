/**
 * Pauses endpoints to which no delivery succeeded for three days. The three days begin at the first
 * failed attempt after the last success, which the delivery loop keeps in `failing_since`. An
 * endpoint without a failure in their second half is not paused: there was no traffic, or no
 * worker.
 */
import type { Clock } from '../../core/clock.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import type { Db } from '../../db/client.ts';
import { enqueueForAdmins, type AdminPlace } from '../../db/team-admins.ts';
import { MAIL_PAUSE, mailPauseKey, SEND_PAUSE_MAIL } from './jobs.ts';
import { pauseEndpoints } from './pause-store.ts';

/** Of each hour only the first failure is known, and the pause looks each minute. */
const FAILED_WITHIN_MIN_MS = 2 * 3_600_000;

/** A statement for so many takes far less time than any statement may. */
const AT_ONCE = 500;

/**
 * Pauses the active endpoints that have been failing for `pauseAfterS`, `atOnce` in a statement.
 * Returns how many.
 */
export async function pauseSilentEndpoints(
  db: Db,
  clock: Clock,
  pauseAfterS: number,
  atOnce = AT_ONCE,
): Promise<number> {
  const now = clock.now();
  const pauseAfterMs = pauseAfterS * 1000;
  const failedWithinMs = Math.max(FAILED_WITHIN_MIN_MS, pauseAfterMs / 2);
  const pauseNext = (): Promise<number> =>
    pauseEndpoints(db, {
      failingUntil: new Date(now.getTime() - pauseAfterMs),
      failedAfter: new Date(now.getTime() - failedWithinMs),
      now,
      auditId: newId('auditEntry'),
      requestId: newRequestId(),
      atMost: atOnce,
    });
  let paused = 0;
  for (let last = atOnce; last === atOnce; paused += last) last = await pauseNext();
  return paused;
}

/**
 * Enqueues the mails about a pause to a page of admins, after `after`, and the job for the next
 * page. Opens a transaction.
 */
export async function mailAdmins(
  db: Db,
  pause: {
    readonly teamId: string;
    readonly endpointId: string;
    readonly after: AdminPlace | null;
  },
): Promise<void> {
  const { teamId, endpointId, after } = pause;
  const key = mailPauseKey(teamId, endpointId);
  await db.transaction((tx) =>
    enqueueForAdmins(tx, teamId, after, {
      each: (memberId) => ({ task: SEND_PAUSE_MAIL, payload: { teamId, memberId, endpointId } }),
      next: (after) => ({ task: MAIL_PAUSE, payload: { teamId, endpointId, after }, key }),
    }),
  );
}
