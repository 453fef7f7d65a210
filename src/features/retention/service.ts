import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { RETENTIONS } from './rules.ts';
import * as store from './store.ts';

const BATCH = 1_000;

/**
 * Deletes old rows and returns how many, by kind. Deletes in small statements, each with a
 * transaction of its own, so that no lock is held for long.
 */
export async function removeOld(
  db: Db,
  clock: Clock,
  batch = BATCH,
): Promise<Record<string, number>> {
  const now = clock.now();
  const removed: Record<string, number> = {};
  for (const retention of RETENTIONS) {
    const before = new Date(now.getTime() - retention.keepMs);
    removed[retention.name] = await repeat(
      () => store.deleteOld(db, retention, before, batch),
      batch,
    );
  }
  removed['counters'] = await repeat(() => store.deleteOldCounters(db, now, batch), batch);
  return removed;
}

async function repeat(remove: () => Promise<number>, batch: number): Promise<number> {
  let sum = 0;
  for (let count = batch; count === batch; sum += count) count = await remove();
  return sum;
}
