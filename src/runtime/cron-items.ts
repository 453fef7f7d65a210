/**
 * How all scheduled jobs are run. A feature says only when.
 *
 * A run does what is due by then, so the next one makes up for one that was missed or has failed.
 * One job of a task waits at most, however long nobody runs it or all runs fail:
 *  * A run that fails is tried again after 3, 7, 20 and 55 seconds and so on, until the next run
 *    takes its place and begins anew. An hourly one is tried seven times before that.
 *  * A run that waits for a slot stays in its place with the time at which it was due, which the
 *    alert JobsOld is about.
 *  * A run that lasts longer keeps the next one waiting, not the slots of other jobs. If it fails,
 *    it is not tried again.
 */
import { parseCronItems, type ParsedCronItem } from 'graphile-worker';
import type { ScheduledJob } from '../core/scheduled-job.ts';

/** The schedule as the job runner takes it. */
export function cronItemsOf(jobs: readonly ScheduledJob[]): ParsedCronItem[] {
  return parseCronItems(
    jobs.map(({ task, match, queue = task }) => ({
      task,
      match,
      options: {
        backfillPeriod: 0,
        jobKey: task,
        jobKeyMode: 'preserve_run_at',
        queueName: queue,
      },
    })),
  );
}
