import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../../core/clock.ts';
import type { AppSecrets } from '../../../core/encryption.ts';
import type { ScheduledJob } from '../../../core/scheduled-job.ts';
import type { Db } from '../../../db/client.ts';
import { REMOVE_CONNECTION, SCHEDULE_SYNCS, SCHEDULED, SYNC_CONNECTION } from './jobs.ts';
import { removeRows } from './removal.ts';
import { scheduleDue, scheduleNext } from './service.ts';
import { syncConnection, type SyncDependencies } from './sync-connection.ts';

/** Of each network call. */
const TIMEOUT_MS = 20_000;

/** Without a team: of all teams, as each minute. */
const schedulePayload = z.object({ teamId: z.string().optional() });
const connectionPayload = z.object({ teamId: z.string(), connectionId: z.string() });
const removalPayload = connectionPayload.extend({ after: z.string().optional() });

/** The feature's jobs. Their payloads are ids only. */
export function crmTasks({
  db,
  clock,
  secrets,
  allowBaseUrl,
  onFailure,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  /** Never in production. */
  readonly allowBaseUrl: boolean;
  readonly onFailure?: SyncDependencies['onFailure'];
}): Record<string, Task> {
  const settings = { timeoutMs: TIMEOUT_MS, allowBaseUrl };
  return {
    [SCHEDULE_SYNCS]: async (payload) => {
      const { teamId } = schedulePayload.parse(payload);
      await (teamId === undefined ? scheduleDue(db, clock) : scheduleNext(db, clock, teamId));
    },
    [SYNC_CONNECTION]: async (payload, { abortSignal: signal, job }) => {
      const sleep = (ms: number): Promise<void> => clock.wait(ms, signal);
      const key = connectionPayload.parse(payload);
      const outcome = await syncConnection(
        { db, clock, secrets, settings, random: Math.random, sleep, signal, onFailure },
        key,
        job.id,
      );
      // Continue now, not at the next minute: with this connection, or with another of the team.
      if (outcome !== 'skipped' && !signal?.aborted) await scheduleNext(db, clock, key.teamId);
    },
    [REMOVE_CONNECTION]: async (payload, { abortSignal: signal }) => {
      await removeRows(db, removalPayload.parse(payload), { clock, signal });
    },
  };
}

export const CRM_CRON: readonly ScheduledJob[] = [{ task: SCHEDULE_SYNCS, match: SCHEDULED.cron }];
