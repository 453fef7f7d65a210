import { spanOf } from '../../core/terminal.ts';
import { FIND_DEAD } from '../../db/jobs/job-locks.ts';
import { readWaitingJobs } from '../../delivery/backlog-store.ts';
import { checkOfDatabase, fail, orOk, warn, type Check, type Finding } from '../check.ts';
import type { Ages } from './transactions.ts';

const HAS_JOBS = `select to_regclass('graphile_worker.jobs') is not null as there`;
// Not those that are tried once: the next look at what is due enqueues another.
const GIVEN_UP = `select k.identifier as task, count(*)::int as count
  from graphile_worker._private_jobs j
  join graphile_worker._private_tasks k on k.id = j.task_id
  where j.attempts >= j.max_attempts and j.max_attempts > 1 and j.locked_at is null
  group by 1
  order by 2 desc
  limit 5`;

/** What the job runner has to do: mails, schedules, synchronizations. */
export function jobPools({ warnS, failS }: Ages = { warnS: 300, failS: 3600 }): Check {
  return checkOfDatabase('jobs', 'JobsLate', async (ask) => {
    const [known] = await ask<{ there: boolean }>(HAS_JOBS);
    if (!known?.there) return [fail('there are no tables for jobs', 'Run "run migrate".')];
    const waiting = await readWaitingJobs((one) => ask(one.text));
    const late = waiting.flatMap(({ task, count, oldest_s }): Finding[] => {
      if (oldest_s < warnS) return [];
      const text = `${count} jobs ${task} wait, the oldest for ${spanOf(oldest_s * 1000)}`;
      const remedy =
        'Start workers of the newest release, which know every task. If they run, read their log.';
      return [oldest_s >= failS ? fail(text, remedy) : warn(text, remedy)];
    });
    const dead = (await ask<{ pool_id: string }>(FIND_DEAD.text)).map(({ pool_id }) =>
      warn(
        `jobs are locked by the worker ${pool_id}, which is gone`,
        'Start a worker: any one releases them after ten seconds.',
      ),
    );
    const givenUp = (await ask<{ task: string; count: number }>(GIVEN_UP)).map(({ task, count }) =>
      warn(
        `${count} jobs ${task} have failed for the last time`,
        'Read last_error in graphile_worker.jobs, mend the cause, and reschedule them.',
      ),
    );
    return orOk([...late, ...dead, ...givenUp], 'no job waits for long');
  });
}
