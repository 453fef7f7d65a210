import type { Task } from 'graphile-worker';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { END_SUSPENSION, SCORE_TRAINING } from './jobs.ts';
import { scoreTraining } from './play-service.ts';
import { endSuspensionOnTime } from './suspension-service.ts';

const scorePayload = z.object({
  teamId: z.string(),
  trainingId: z.string(),
  score: z.int(),
  savedAt: z.string(),
});
const suspensionPayload = z.object({ teamId: z.string(), until: z.string() });

/** The feature's jobs: what follows after a while on what was played. */
export function sandboxTasks(db: Db, clock: Clock): Record<string, Task> {
  return {
    [SCORE_TRAINING]: (payload) => scoreTraining(db, clock, scorePayload.parse(payload)),
    [END_SUSPENSION]: (payload) => endSuspensionOnTime(db, clock, suspensionPayload.parse(payload)),
  };
}
