import { readPageBy, type Page, type PageQuery } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import {
  findEvaluation,
  listEvaluatedTrainings,
  type EvaluatedTrainingRow,
  type EvaluationRow,
} from '../trainings/service.ts';
import { LIST } from './rules.ts';

export { toEvaluation, toTraining, trainingExample, trainingPage } from '../trainings/service.ts';

/** What a list is asked for. */
export interface EvaluationQuery extends PageQuery {
  /** A date-time with an offset. */
  readonly updated_since?: string | undefined;
  /** `evaluation`, or nothing. */
  readonly include?: string | undefined;
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
  const { updated_since, include } = query;
  const since = updated_since && toInstant(updated_since);
  const withEvaluations = include === 'evaluation';
  const positionOf = (row: EvaluatedTrainingRow) => ({ at: row.stored_at, id: row.id });
  return readPageBy(positionOf, LIST, query, (slice) =>
    listEvaluatedTrainings(db, teamId, { ...slice, since, withEvaluations }),
  );
}

/** Throws `not_found`, even for a known training while it is not scored. */
export async function getEvaluation(
  db: Db,
  teamId: string,
  trainingId: string,
): Promise<EvaluationRow> {
  const row = await findEvaluation(db, teamId, trainingId);
  if (!row) throw notFound();
  return row;
}
