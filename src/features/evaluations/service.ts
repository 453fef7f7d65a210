import { parseCursor, toPage, type Page } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import { listEvaluatedTrainings, type EvaluatedTrainingRow } from '../trainings/service.ts';
import { LIST } from './rules.ts';
import * as store from './store.ts';
import type { EvaluationRow } from './store.ts';

export { toTraining, trainingExample, trainingPage } from '../trainings/service.ts';

/** What a list is asked for. */
export interface EvaluationQuery {
  readonly cursor?: string | undefined;
  readonly limit: number;
  /** A date-time with an offset. */
  readonly updated_since?: string | undefined;
}

/**
 * Lists the trainings with an evaluation, the one stored last first. Throws `validation_error` for
 * a cursor of another list.
 */
export async function listEvaluated(
  db: Db,
  teamId: string,
  query: EvaluationQuery,
): Promise<Page<EvaluatedTrainingRow>> {
  const { cursor, limit, updated_since } = query;
  const since = updated_since === undefined ? null : toInstant(updated_since);
  const rows = await listEvaluatedTrainings(db, teamId, {
    limit: limit + 1,
    after: parseCursor(LIST, cursor),
    since,
  });
  return toPage(LIST, rows, limit, (row) => ({ at: row.stored_at, id: row.id }));
}

/** Throws `not_found`, even for a known training while it is not scored. */
export async function getEvaluation(
  db: Db,
  teamId: string,
  trainingId: string,
): Promise<EvaluationRow> {
  const row = await store.findEvaluation(db, teamId, trainingId);
  if (!row) throw notFound();
  return row;
}
