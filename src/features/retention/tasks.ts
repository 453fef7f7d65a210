import type { Task } from 'graphile-worker';
import type { Clock } from '../../core/clock.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { removeOld, type RemovalOptions } from './service.ts';

/** The job that deletes old rows. */
export const REMOVE_OLD = 'remove_old';

/** The feature's jobs. */
export function retentionTasks(
  db: Db,
  clock: Clock,
  options: Pick<RemovalOptions, 'requestLogDays'> = {},
): Record<string, Task> {
  return {
    [REMOVE_OLD]: async () => {
      await removeOld(db, clock, options);
    },
  };
}

/** Every hour, so that no run has much to do. The next run makes up for a missed one. */
export const RETENTION_CRON: readonly ScheduledJob[] = [{ task: REMOVE_OLD, match: '17 * * * *' }];
