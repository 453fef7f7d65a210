import { statement, type Tx } from '../../db/client.ts';
import type { TrainingRow } from './store.ts';

const LOCK_PERSON = statement(
  'trainings.lockPerson',
  'select from person where team_id = $1 and id = $2 for no key update',
);

const LOCK_PERSON_OF = statement<{ id: string }>(
  'trainings.lockPersonOf',
  'select id from person where team_id = $1 and id = (select user_id from training where team_id = $1 and id = $2) for no key update',
);

/**
 * Makes the other writers of the person's trainings, evaluations and figures wait until this transaction ends. It is the first lock of each of them; then come
 * assignments, then the rows themselves, so that none waits for another in a circle.
 */
export function lockPerson(tx: Tx, teamId: string, userId: string): void {
  tx.send(LOCK_PERSON, [teamId, userId]);
}

/** The same, of whoever made the training. False: there was no such training yet, and nothing is locked, even if there is one by now. */
export async function lockPersonOf(tx: Tx, teamId: string, trainingId: string): Promise<boolean> {
  return (await tx.query(LOCK_PERSON_OF, [teamId, trainingId])).length > 0;
}

const KNOWS_PERSON = statement(
  'trainings.knowsPerson',
  'select from person where team_id = $1 and id = $2',
);

export async function knowsPerson(tx: Tx, teamId: string, userId: string): Promise<boolean> {
  return (await tx.query(KNOWS_PERSON, [teamId, userId])).length > 0;
}

const COLUMNS = `id, user_id, status, source, assignment_id, created_at, finished_at, duration_s, external_ref, situation_id, personality_id, industry_id, role_id`;

const FIND = statement<TrainingRow>(
  'trainings.findOfAnybody',
  `select ${COLUMNS} from training where team_id = $1 and id = $2`,
);

/** The training, whether or not its person is a member now. */
export async function findTrainingOfAnybody(
  tx: Tx,
  teamId: string,
  trainingId: string,
): Promise<TrainingRow | null> {
  const [row] = await tx.query(FIND, [teamId, trainingId]);
  return row ?? null;
}

const INSERT = statement<{ id: string }>(
  'trainings.insert',
  `insert into training (team_id, ${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::json, $11, $12, $13, $14)
   on conflict (team_id, id) do nothing returning id`,
);

/** Whether it was inserted: false when the id was taken meanwhile, for another person. */
export async function insertTraining(tx: Tx, teamId: string, row: TrainingRow): Promise<boolean> {
  const rows = await tx.query(INSERT, [
    teamId,
    row.id,
    row.user_id,
    row.status,
    row.source,
    row.assignment_id,
    row.created_at,
    row.finished_at,
    row.duration_s,
    toJson(row.external_ref),
    row.situation_id,
    row.personality_id,
    row.industry_id,
    row.role_id,
  ]);
  return rows.length > 0;
}

const UPDATE = statement(
  'trainings.update',
  `update training set status = $3, assignment_id = $4, finished_at = $5, duration_s = $6, external_ref = $7::json, situation_id = $8, personality_id = $9,
     industry_id = $10, role_id = $11 where team_id = $1 and id = $2`,
);

export function updateTraining(tx: Tx, teamId: string, row: TrainingRow): void {
  tx.send(UPDATE, [
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
  ]);
}

const MARK_SCORED = statement(
  'trainings.markScored',
  `update training set status = 'scored' where team_id = $1 and id = $2`,
);

export function markScored(tx: Tx, teamId: string, trainingId: string): void {
  tx.send(MARK_SCORED, [teamId, trainingId]);
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
