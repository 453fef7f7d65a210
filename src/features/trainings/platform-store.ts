import { jsonBytes } from '../../core/json.ts';
import { statement, type Tx } from '../../db/client.ts';
import type { TrainingRow } from './store.ts';

const LOCK_PERSON = statement(
  'trainings.lockPerson',
  `select
   from person
   where team_id = $1 and id = $2
   for no key update`,
);

const LOCK_PERSON_OF = statement<{ id: string }>(
  'trainings.lockPersonOf',
  `select id
   from person
   where team_id = $1
     and id = (select user_id from training where team_id = $1 and id = $2)
   for no key update`,
);

/**
 * Locks the person until the transaction ends. Other writers of the person's trainings, evaluations
 * and figures wait. Every writer locks the person first, then assignments, then the rows
 * themselves, so that they cannot deadlock.
 */
export function lockPerson(tx: Tx, teamId: string, userId: string): void {
  tx.send(LOCK_PERSON, [teamId, userId]);
}

/**
 * Locks the person of a training. Returns false if there was no such training. Then nothing is
 * locked, even if the training has been inserted since.
 */
export async function lockPersonOf(tx: Tx, teamId: string, trainingId: string): Promise<boolean> {
  return (await tx.query(LOCK_PERSON_OF, [teamId, trainingId])).length > 0;
}

const KNOWS_PERSON = statement(
  'trainings.knowsPerson',
  'select from person where team_id = $1 and id = $2',
);

/** Whether the team knows the person, as a member of any status. */
export async function knowsPerson(tx: Tx, teamId: string, userId: string): Promise<boolean> {
  return (await tx.query(KNOWS_PERSON, [teamId, userId])).length > 0;
}

const COLUMNS = `id, status, assignment_id, finished_at, duration_s, external_ref, situation_id,
  personality_id, industry_id, role_id, user_id, source, created_at`;

const FIND = statement<TrainingRow>(
  'trainings.findOfAnybody',
  `select ${COLUMNS} from training where team_id = $1 and id = $2`,
);

/** The training, even if its person is no longer a member; null if there is none. */
export function findTrainingOfAnybody(
  tx: Tx,
  teamId: string,
  trainingId: string,
): Promise<TrainingRow | null> {
  return tx.queryFirst(FIND, [teamId, trainingId]);
}

const INSERT = statement<{ id: string }>(
  'trainings.insert',
  `insert into training (team_id, ${COLUMNS}, json_bytes)
   values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9, $10, $11, $13, $14, $15, $12)
   on conflict (team_id, id) do nothing
   returning id`,
);

/** Inserts a training. Returns false if its id was taken meanwhile, for another person. */
export async function insertTraining(tx: Tx, teamId: string, row: TrainingRow): Promise<boolean> {
  const rows = await tx.query(INSERT, [
    ...valuesOf(teamId, row),
    row.user_id,
    row.source,
    row.created_at,
  ]);
  return rows.length > 0;
}

const UPDATE = statement(
  'trainings.update',
  `update training
   set status = $3,
     assignment_id = $4,
     finished_at = $5,
     duration_s = $6,
     external_ref = $7::json,
     situation_id = $8,
     personality_id = $9,
     industry_id = $10,
     role_id = $11,
     json_bytes = $12
   where team_id = $1 and id = $2`,
);

/** Writes the fields that a step may change. */
export function updateTraining(tx: Tx, teamId: string, row: TrainingRow): void {
  tx.send(UPDATE, valuesOf(teamId, row));
}

/** The key and what a step may change, in the order of both statements. */
function valuesOf(teamId: string, row: TrainingRow): unknown[] {
  return [
    teamId,
    row.id,
    row.status,
    row.assignment_id,
    row.finished_at,
    row.duration_s,
    toJson(row.external_ref),
    row.situation_id,
    row.personality_id,
    row.industry_id,
    row.role_id,
    row.external_ref === null ? null : jsonBytes(row.external_ref),
  ];
}

const MARK_SCORED = statement(
  'trainings.markScored',
  `update training set status = 'scored' where team_id = $1 and id = $2`,
);

/** Sets the status `scored`. */
export function markScored(tx: Tx, teamId: string, trainingId: string): void {
  tx.send(MARK_SCORED, [teamId, trainingId]);
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
