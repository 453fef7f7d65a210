import type { Task } from 'graphile-worker';
import type { Clock } from '../../core/clock.ts';
import type { ScheduledJob } from '../../core/scheduled-job.ts';
import type { Db } from '../../db/client.ts';
import { eraseTeams } from './erasure-service.ts';
import { ERASE_TEAMS, REMOVALS_QUEUE } from './jobs.ts';

/** The feature's jobs. A run that did not finish adds the next one. */
export function teamTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [ERASE_TEAMS]: async (_payload, { abortSignal, addJob }) => {
      const hasMore = await eraseTeams(db, { clock, signal: abortSignal });
      if (hasMore) await addJob(ERASE_TEAMS, {}, SPEC);
    },
  };
}

const SPEC = { queueName: REMOVALS_QUEUE, jobKey: ERASE_TEAMS } as const;

/** Every minute, in case that a job was lost or given up: a marked team is always erased. */
export const TEAM_CRON: readonly ScheduledJob[] = [
  { task: ERASE_TEAMS, match: '* * * * *', queue: REMOVALS_QUEUE },
];
