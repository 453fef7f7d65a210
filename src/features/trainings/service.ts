import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import { LIST } from './rules.ts';
import * as store from './store.ts';
import type { TrainingFilters, TrainingRow } from './store.ts';

// The list of evaluations is a list of trainings.
export { trainingExample, trainingPage } from './schema.ts';
export { listEvaluatedTrainings, type EvaluatedTrainingRow } from './store.ts';
export { toTraining } from './view.ts';

/** What a list is asked for. */
export interface TrainingQuery extends TrainingFilters, PageQuery {
  /** A date-time with an offset. */
  readonly since?: string | undefined;
}

/**
 * Lists trainings of active members, newest first. Throws `validation_error` for a cursor of
 * another list.
 */
export async function listTrainings(
  db: Db,
  teamId: string,
  query: TrainingQuery,
): Promise<Page<TrainingRow>> {
  const { cursor, limit, since: given, ...filters } = query;
  const since = given === undefined ? null : toInstant(given);
  return readPage(LIST, { cursor, limit }, (slice) =>
    store.listTrainings(db, teamId, { ...slice, since }, filters),
  );
}

/** Throws `not_found`. */
export async function getTraining(
  db: Db,
  teamId: string,
  trainingId: string,
): Promise<TrainingRow> {
  const row = await store.findTraining(db, teamId, trainingId);
  if (!row) throw notFound();
  return row;
}
