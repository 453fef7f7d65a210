import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/clock.ts';
import { unknownId } from '../../../core/problem.ts';
import type { Db } from '../../../db/client.ts';
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
  const now = clock.now();
  await enqueueDue(db, { now, fullSince: fullSince(now) });
}

/** The same for the team whose run has ended, which may have more to do. */
export async function scheduleNext(db: Db, clock: Clock, teamId: string): Promise<void> {
  const now = clock.now();
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
  await db.transaction(async (tx) => {
    if (!(await takeOver(tx, run, clock.now()))) throw unknownId('connection_id');
    const failure = { error: providerError(reason), madeProgress: false, lastReason: null };
    await giveUp({ db: tx, clock, random: Math.random }, run, failure);
  });
}
