import type { NewEvent } from '../../core/events.ts';
import { invalidField, ProblemError, unknownId } from '../../core/problem.ts';
import { requireFreeJson } from '../../core/shapes.ts';
import type { Db, Tx } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import {
  readChangeContext,
  type CurrentContext,
  type PlatformChangeContext,
} from '../../db/change-context.ts';
import { changeRollups } from '../analytics/platform-service.ts';
import {
  completeAssignment,
  lockAssignments,
  type AssignmentRow,
} from '../assignments/platform-service.ts';
import * as rules from './platform-rules.ts';
import type { Step } from './platform-rules.ts';
import * as store from './platform-store.ts';
import type { TrainingRow } from './store.ts';

/** The fields that every call about a training has. */
export type Description = Omit<TrainingRow, 'status' | 'finished_at' | 'duration_s'>;

/**
 * Records a step of a training. Steps may arrive in any order and repeatedly. The first end emits
 * `training.completed`. Opens a transaction. Throws `not_found` (team or person), `conflict`,
 * `validation_error` (fields `external_ref`, `finished_at`, `assignment_id`).
 */
export async function recordStep(
  db: Db,
  context: PlatformChangeContext,
  wanted: Description,
  step: Step,
): Promise<TrainingRow> {
  const { teamId } = context;
  requireFreeJson('external_ref', wanted.external_ref);
  rules.requireOrder(wanted.created_at, step);
  return db.transaction(async (tx) => {
    store.lockPerson(tx, teamId, wanted.user_id);
    const [assignments, current, isKnown, before] = await Promise.all([
      lockAssignments(tx, teamId, wanted.id, wanted.assignment_id),
      readChangeContext(tx, context),
      store.knowsPerson(tx, teamId, wanted.user_id),
      store.findTrainingOfAnybody(tx, teamId, wanted.id),
    ]);
    if (!isKnown) throw unknownId('user_id');
    if (before) rules.requireSameTraining(before, wanted);
    const after = applyStep(before, wanted, assignments, step);
    if (before && isSame(before, after)) return before;
    await write(tx, teamId, before, after);
    record(tx, current, {
      audit: { action: AUDIT_ACTIONS[step.kind], targetId: wanted.id },
      events: followUp(tx, current, { before, after, assignments }),
    });
    if (before?.status === 'scored') store.listAgain(tx, teamId, wanted.id);
    return after;
  });
}

const AUDIT_ACTIONS = {
  start: 'training.started',
  end: 'training.ended',
  abort: 'training.aborted',
} as const;

/**
 * Returns the training after the step. Stored values stay, missing ones are filled in. Throws
 * `validation_error` (field `assignment_id`).
 */
function applyStep(
  before: TrainingRow | null,
  wanted: Description,
  assignments: readonly AssignmentRow[],
  step: Step,
): TrainingRow {
  const { status, finished_at, duration_s } = rules.advance(before, step);
  const stored = Object.entries(before ?? {}).filter(([, value]) => value !== null);
  return {
    ...wanted,
    ...(Object.fromEntries(stored) as Partial<TrainingRow>),
    status,
    finished_at,
    duration_s,
    assignment_id: before?.assignment_id ?? findAssignmentId(wanted, assignments),
  };
}

/** Returns null for an assignment that does not exist (any more). */
function findAssignmentId(
  wanted: Description,
  assignments: readonly AssignmentRow[],
): string | null {
  const assignment = assignments.find(({ id }) => id === wanted.assignment_id);
  if (!assignment) return null;
  if (assignment.member_user_id === wanted.user_id) return assignment.id;
  throw invalidField('assignment_id', "The assignment is another person's.");
}

/** Comparing by identity is enough: `applyStep` keeps the stored objects. */
function isSame(before: TrainingRow, after: TrainingRow): boolean {
  return (Object.keys(after) as (keyof TrainingRow)[]).every(
    (name) => after[name] === before[name],
  );
}

async function write(
  tx: Tx,
  teamId: string,
  before: TrainingRow | null,
  after: TrainingRow,
): Promise<void> {
  if (before) return store.updateTraining(tx, teamId, after);
  if (await store.insertTraining(tx, teamId, after)) return;
  throw new ProblemError('conflict', {
    detail: 'The training is known with another user_id or created_at.',
  });
}

/** Updates the rollups, completes the assignment, and returns the events to record. */
function followUp(
  tx: Tx,
  { teamId }: ChangeContext,
  {
    before,
    after,
    assignments,
  }: { before: TrainingRow | null; after: TrainingRow; assignments: readonly AssignmentRow[] },
): NewEvent[] {
  const contributionOf = (row: TrainingRow | null) => ({
    isEnded: rules.isEnded(row),
    score: null,
  });
  // A step does not change the score, so it is left out of both sides.
  changeRollups(tx, teamId, after, {
    before: contributionOf(before),
    after: contributionOf(after),
  });
  const { id, user_id, assignment_id, finished_at, duration_s } = after;
  const linked = assignment_id !== null && !before?.assignment_id && after.status === 'scored';
  const assignment = linked ? assignments.find((each) => each.id === assignment_id) : undefined;
  const completed = assignment ? completeAssignment(tx, teamId, assignment, id) : [];
  if (finished_at === null || before?.finished_at) return completed;
  const data = { training_id: id, user_id, assignment_id, finished_at, duration_s };
  return [{ type: 'training.completed', data }, ...completed];
}

/** A training whose person and assignment are locked. */
export interface TrainingToScore {
  readonly training: TrainingRow;
  readonly context: CurrentContext<PlatformChangeContext>;
  /** The assignment that the training was made for. Its row is locked. */
  readonly assignment: AssignmentRow | null;
}

/**
 * Finds a training and locks its person and its assignment, which a saved evaluation changes.
 * `alongside` sends its query in the same round trip, under these locks. Throws `not_found`.
 */
export async function lockTrainingToScore<T>(
  tx: Tx,
  context: PlatformChangeContext,
  trainingId: string,
  alongside: () => Promise<T>,
): Promise<TrainingToScore & { readonly alongside: T }> {
  const { teamId } = context;
  const [isLocked, assignments, current, training, answer] = await Promise.all([
    store.lockPersonOf(tx, teamId, trainingId),
    lockAssignments(tx, teamId, trainingId, null),
    readChangeContext(tx, context),
    store.findTrainingOfAnybody(tx, teamId, trainingId),
    alongside(),
  ]);
  // A training that was inserted after the lock was requested is not locked. Treat it as not there.
  if (!isLocked || !training) throw unknownId('training_id');
  return { training, context: current, assignment: assignments[0] ?? null, alongside: answer };
}

/** Marks a locked training as scored. */
export function markScored(tx: Tx, teamId: string, { id, status }: TrainingRow): void {
  if (status !== 'scored') store.markScored(tx, teamId, id);
}

export { isEnded } from './platform-rules.ts';
export { toDescription } from './platform-view.ts';
