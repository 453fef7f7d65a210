import type { Clock } from '../../../core/clock.ts';
import type { Db } from '../../../db/client.ts';
import { enqueueDue } from './schedule-store.ts';

/** Enqueues a job for each connection that is due and that no run has. */
export async function scheduleDue(db: Db, clock: Clock): Promise<void> {
  await enqueueDue(db, clock.now());
}
