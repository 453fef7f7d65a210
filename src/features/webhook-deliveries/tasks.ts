import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { RESEND_DELIVERIES, resendBatch } from './resend-service.ts';

const resendPayload = z.object({
  teamId: z.string(),
  endpointId: z.string(),
  resendId: z.string(),
});

/** The feature's jobs. Each run resends one batch of failed deliveries. */
export function resendTasks({
  db,
  clock,
}: {
  readonly db: Db;
  readonly clock: Clock;
}): Record<string, Task> {
  return {
    [RESEND_DELIVERIES]: (payload) => resendBatch(db, clock, resendPayload.parse(payload)),
  };
}
