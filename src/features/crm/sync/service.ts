import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { unknownId } from '../../../core/problem.ts';
import type { Db } from '../../../db/client.ts';
import { databaseClock, databaseTime } from '../../../db/database-clock.ts';
import { providerError, type FailureReason } from '../providers/errors.ts';
import { giveUp } from './give-up.ts';
import type { ConnectionKey } from './jobs.ts';
import { takeOver } from './run-store.ts';
import { enqueueDue, enqueueDueOf } from './schedule-store.ts';
import { fullSince } from './schedule.ts';

/**
 * Enqueues a job for each connection that is due and that no run has, one for each team and queue
 * (../rules.ts). The others of the team follow by `scheduleNext`.
 */
export async function scheduleDue(db: Db, clock: Clock): Promise<void> {
  const now = await databaseTime(db, clock.override());
  await enqueueDue(db, { now, fullSince: fullSince(now) });
}

/** The same for one team: whose run has ended and may have more to do, or whose admin asks. */
export async function scheduleNext(db: Db, clock: Clock, teamId: string): Promise<void> {
  const now = await databaseTime(db, clock.override());
  await enqueueDueOf(db, teamId, { now, fullSince: fullSince(now) });
}

/**
 * Notes a failed attempt to synchronize a connection, as if the CRM had just answered so. A run
 * that has the connection loses it. Opens a transaction. Emits `crm.sync.failed`. Throws
 * `not_found` for a connection that is not active.
 */
export async function failNow(
  db: Db,
  clock: Clock,
  { teamId, connectionId }: ConnectionKey,
  reason: FailureReason,
): Promise<void> {
  const run = { teamId, connectionId, token: randomUUID() };
  const ofDatabase = await databaseClock(db, clock);
  await db.transaction(async (tx) => {
    if (!(await takeOver(tx, run, ofDatabase.now()))) throw unknownId('connection_id');
    const error = providerError(reason);
    const failure = { error, madeProgress: false, round: null, lastReason: null };
    await giveUp({ db: tx, clock: ofDatabase, random: Math.random }, run, failure);
  });
}
