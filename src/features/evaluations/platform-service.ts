import type { NewEvent } from '../../core/events.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import type { PlatformChangeContext } from '../../db/change-context.ts';
import { changeRollups } from '../analytics/platform-service.ts';
import { completeAssignment } from '../assignments/platform-service.ts';
import { isEnded, lockTrainingToScore, markScored } from '../trainings/platform-service.ts';
import { isLater } from './platform-rules.ts';
import * as store from './platform-store.ts';

/**
 * Saves a training's evaluation, sets the training to `scored` and its assignment to `done`, and
 * updates the analytics rollups. Returns the time of the latest evaluation, which may be a stored
 * one that is newer. The first save emits `evaluation.completed`. Opens a transaction. Throws
 * `not_found`.
 */
export async function saveEvaluation(
  db: Db,
  context: PlatformChangeContext,
  evaluation: Omit<store.NewEvaluation, 'user_id'>,
): Promise<{ savedAt: string }> {
  const { teamId } = context;
  const { training_id: trainingId, saved_at: savedAt, total, dimensions } = evaluation;
  return db.transaction(async (tx) => {
    const locked = await lockTrainingToScore(tx, context, trainingId, () =>
      store.findStored(tx, teamId, trainingId),
    );
    const { training, assignment, alongside: stored } = locked;
    if (stored && !isLater(savedAt, stored)) return { savedAt: stored.saved_at };
    markScored(tx, teamId, training);
    changeRollups(tx, teamId, training, {
      before: { isEnded: isEnded(training), score: stored },
      after: { isEnded: true, score: { total, dimensions } },
    });
    const events: NewEvent[] = [];
    if (!stored) {
      const data = { training_id: trainingId, user_id: training.user_id, score: total };
      events.push({ type: 'evaluation.completed', data });
      if (assignment) events.push(...completeAssignment(tx, teamId, assignment, trainingId));
    }
    record(tx, locked.context, {
      audit: { action: 'evaluation.saved', targetId: trainingId },
      events,
    });
    store.saveEvaluation(tx, teamId, { ...evaluation, user_id: training.user_id });
    return { savedAt };
  });
}
