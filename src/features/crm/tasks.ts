import { setTimeout as delay } from 'node:timers/promises';
import type { CronItem, Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { AppSecrets } from '../../core/encryption.ts';
import type { Db } from '../../db/client.ts';
import { removeRows } from './connections.ts';
import { PROVIDER_TIMEOUT_MS } from './providers.ts';
import { REMOVE_CONNECTION, SCHEDULE_SYNCS, scheduleDue, SYNC_CONNECTION } from './sync-store.ts';
import { syncConnection } from './sync.ts';

const connectionPayload = z.object({ teamId: z.string(), connectionId: z.string() });

/** The feature's jobs. They carry ids only. */
export function crmTasks({
  db,
  clock,
  secrets,
  allowBaseUrl,
}: {
  readonly db: Db;
  readonly clock: Clock;
  readonly secrets: AppSecrets;
  /** Never in production. */
  readonly allowBaseUrl: boolean;
}): Record<string, Task> {
  const settings = { timeoutMs: PROVIDER_TIMEOUT_MS, allowBaseUrl };
  return {
    [SCHEDULE_SYNCS]: async () => {
      await scheduleDue(db, clock.now());
    },
    [SYNC_CONNECTION]: async (payload, { abortSignal: signal }) => {
      const sleep = async (ms: number): Promise<void> => {
        await delay(ms, undefined, { signal }).catch(() => undefined);
      };
      const key = connectionPayload.parse(payload);
      const outcome = await syncConnection({ db, clock, secrets, settings, random: Math.random, sleep, signal }, key);
      // There is more to do: not only at the next minute.
      if (outcome === 'yielded' && !signal?.aborted) await scheduleDue(db, clock.now());
    },
    [REMOVE_CONNECTION]: async (payload) => {
      await removeRows(db, connectionPayload.parse(payload));
    },
  };
}

/** Each minute: retries after a failure are a minute apart at first. */
export const CRM_CRON: readonly CronItem[] = [
  { task: SCHEDULE_SYNCS, match: '* * * * *', options: { backfillPeriod: 0 } },
];
