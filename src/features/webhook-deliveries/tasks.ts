import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { REMOVE_DELIVERIES } from './jobs.ts';
import { removeDeletedEndpoint } from './removal.ts';
import { RESEND_DELIVERIES, resendBatch } from './resend-service.ts';

const resendPayload = z.object({
  teamId: z.string(),
  endpointId: z.string(),
  resendId: z.string(),
});

const removalPayload = z.object({
  teamId: z.string(),
  endpointId: z.string(),
  after: z.object({ at: z.string(), id: z.string() }).optional(),
});

/** The feature's jobs: the next batch of a resend, or of a removal. */
export function deliveryTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [RESEND_DELIVERIES]: (payload) => resendBatch(db, clock, resendPayload.parse(payload)),
    [REMOVE_DELIVERIES]: (payload, { abortSignal }) =>
      removeDeletedEndpoint(db, removalPayload.parse(payload), { clock, signal: abortSignal }),
  };
}
