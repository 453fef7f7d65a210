/**
 * Pauses endpoints to which no delivery succeeded for three days. The three days begin at the first
 * failed attempt after the last success, which the delivery loop keeps in `failing_since`. An
 * endpoint without a failure in their second half is not paused: there was no traffic, or no
 * worker.
 */
import type { Clock } from '../../core/clock.ts';
import { newRequestId } from '../../core/ids.ts';
import { contextOfJob } from '../../db/change-context.ts';
import type { Db } from '../../db/client.ts';
import { databaseClock } from '../../db/database-clock.ts';
import { workOnDue } from '../../db/due-rows.ts';
import { record } from '../../db/outbox.ts';
import { enqueueForAdmins, type AdminPlace } from '../../db/team-admins.ts';
import { MAIL_PAUSE, mailPauseKey, SEND_PAUSE_MAIL } from './jobs.ts';
import { findSilent, pauseSilent, type SilentRow, type Silence } from './pause-store.ts';

/** Of each hour only the first failure is known, and the pause looks each minute. */
const FAILED_WITHIN_MIN_MS = 2 * 3_600_000;

/** Pauses the active endpoints that have been failing for `pauseAfterS`. Returns how many. */
export async function pauseSilentEndpoints(
  db: Db,
  ownClock: Clock,
  pauseAfterS: number,
): Promise<number> {
  // The failures are dated by workers that go by it, too.
  const clock = await databaseClock(db, ownClock);
  const at = clock.now();
  const pauseAfterMs = pauseAfterS * 1000;
  const failedWithinMs = Math.max(FAILED_WITHIN_MIN_MS, pauseAfterMs / 2);
  return pauseEndpoints(db, {
    failingUntil: new Date(at.getTime() - pauseAfterMs),
    failedAfter: new Date(at.getTime() - failedWithinMs),
    clock,
    requestId: newRequestId(),
  });
}

interface Pause extends Silence {
  /** Each has its own time: all that happened before it is still sent. */
  readonly clock: Clock;
  readonly requestId: string;
  readonly pageSize?: number;
}

/**
 * Pauses the endpoints and returns how many, each in a transaction with its audit entry and the job
 * that mails the team's admins.
 */
export async function pauseEndpoints(db: Db, pause: Pause): Promise<number> {
  let paused = 0;
  await workOnDue<SilentRow>({
    list: (slice) => findSilent(db, pause, slice),
    work: async (endpoint) => {
      if (await pauseEndpoint(db, endpoint, pause)) paused += 1;
    },
    isOver: () => false,
    failure: 'Some endpoints were not paused yet.',
    pageSize: pause.pageSize,
  });
  return paused;
}

async function pauseEndpoint(db: Db, endpoint: SilentRow, pause: Pause): Promise<boolean> {
  const { team_id: teamId, id } = endpoint;
  const { clock, requestId } = pause;
  const actor = { kind: 'system', id: 'worker' } as const;
  const payload = { teamId, endpointId: id };
  return db.transaction(async (tx) => {
    // Not before: what happens while this waits for a connection is still sent.
    const at = clock.now();
    if (!(await pauseSilent(tx, endpoint, { ...pause, at }))) return false;
    record(tx, contextOfJob({ teamId, actor, requestId, at }), {
      audit: { action: 'webhook_endpoint.paused', targetId: id },
      jobs: [{ task: MAIL_PAUSE, payload, key: mailPauseKey(teamId, id) }],
    });
    return true;
  });
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
  await db.transaction((tx) =>
    enqueueForAdmins(tx, teamId, after, {
      each: (memberId) => ({ task: SEND_PAUSE_MAIL, payload: { teamId, memberId, endpointId } }),
      next: (after) => ({ task: MAIL_PAUSE, payload: { teamId, endpointId, after } }),
      key: mailPauseKey(teamId, endpointId),
    }),
  );
}
