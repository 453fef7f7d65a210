import type { z } from 'zod';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Db } from '../../db/client.ts';
import { LIST } from './rules.ts';
import type { listInput } from './schema.ts';
import * as store from './store.ts';
import type { ScoredRow, TrainingFilters, TrainingRow } from './store.ts';

// The list of evaluations is a list of trainings.
export { trainingExample, trainingPage } from './schema.ts';
export { findEvaluation, type EvaluationRow } from './evaluation-store.ts';
export { listEvaluatedTrainings, type EvaluatedTrainingRow } from './store.ts';
export { toEvaluation, toTraining } from './view.ts';

interface Range {
  /** A date-time with an offset. */
  readonly since?: string | undefined;
  /** A date-time with an offset. */
  readonly until?: string | undefined;
  /** `evaluation`, or nothing. */
  readonly include?: string | undefined;
}

type Asked = Exclude<keyof z.output<typeof listInput>, keyof (PageQuery & Range)>;
/** What a list is asked for. A filter that the store does not know does not compile. */
export type TrainingQuery = PageQuery & Range & Pick<TrainingFilters, Asked>;

/**
 * Lists trainings of active members, newest first. Throws `validation_error` for a cursor of
 * another list.
 */
export async function listTrainings(
  db: Db,
  teamId: string,
  query: TrainingQuery,
): Promise<Page<ScoredRow>> {
  const { cursor, limit, since: from, until: to, include, ...filters } = query;
  const since = from && toInstant(from);
  const until = to && toInstant(to);
  const withEvaluations = include === 'evaluation';
  return readPage(LIST, { cursor, limit }, (slice) =>
    store.listTrainings(db, teamId, { ...slice, since, until, withEvaluations }, filters),
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
