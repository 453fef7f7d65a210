import type { CronItem, Task } from 'graphile-worker';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { removeOld } from './service.ts';

/** The job that removes what is older than its time. */
export const REMOVE_OLD = 'remove_old';

export function retentionTasks({
  db,
  clock,
}: {
  readonly db: Db;
  readonly clock: Clock;
}): Record<string, Task> {
  return {
    [REMOVE_OLD]: async () => {
      await removeOld(db, clock);
    },
  };
}

/** Each hour, so that no run has much to do. One that was missed is made up for by the next. */
export const RETENTION_CRON: readonly CronItem[] = [
  { task: REMOVE_OLD, match: '17 * * * *', options: { backfillPeriod: 0 } },
];
