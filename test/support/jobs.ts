import { Logger, runOnce, type TaskList } from 'graphile-worker';
import { fromUUID } from 'typeid-js';
import { v7 } from 'uuid';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import type { TestApi } from './api.ts';
import { openSturdyPool } from './pool.ts';

/** Runs the jobs that wait, as a worker would. */
export async function runJobsOnce(
  api: Pick<TestApi, 'db' | 'databaseUrl'>,
  taskList: TaskList,
): Promise<void> {
  // On Citus changes leave their jobs to the workers' intake.
  await movePendingJobs(api.db);
  // graphile-worker's own pool is not sturdy.
  const pgPool = openSturdyPool(api.databaseUrl, 10);
  const logger = new Logger(() => () => undefined);
  await runOnce({ pgPool, taskList, noHandleSignals: true, logger });
  await pgPool.end();
}

/** The id of a job that waits since then. */
export function jobIdOf(at: number): string {
  return fromUUID(v7({ msecs: at }), 'job');
}
