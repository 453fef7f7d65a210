import { jsonBytes } from '../../core/json.ts';
import { statement, type Tx } from '../../db/client.ts';
import { assigned, columnsOf, listed, parameters, valuesIn } from '../../db/rows.ts';
import { COLUMNS, type TrainingRow } from './store.ts';

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
  { because: 'hot' },
);

/** Whether the team knows the person, as a member of any status. */
export async function knowsPerson(tx: Tx, teamId: string, userId: string): Promise<boolean> {
  return (await tx.query(KNOWS_PERSON, [teamId, userId])).length > 0;
}

const FIND = statement<TrainingRow>(
  'trainings.findOfAnybody',
  `select ${listed(COLUMNS)} from training where team_id = $1 and id = $2`,
  { because: 'hot' },
);

/** The training, even if its person is no longer a member; null if there is none. */
export function findTrainingOfAnybody(
  tx: Tx,
  teamId: string,
  trainingId: string,
): Promise<TrainingRow | null> {
  return tx.queryFirst(FIND, [teamId, trainingId]);
}

const STORED = columnsOf('Training', 'team_id');
/** The columns that a step may change. */
const CHANGEABLE = columnsOf('Training', 'team_id', 'id', 'user_id', 'source', 'created_at');

const INSERT = statement<{ id: string }>(
  'trainings.insert',
  `insert into training (team_id, ${listed(STORED)})
   values ($1, ${parameters(STORED, 2)})
   on conflict (team_id, id) do nothing
   returning id`,
);

/** Inserts a training. Returns false if its id was taken meanwhile, for another person. */
export async function insertTraining(tx: Tx, teamId: string, row: TrainingRow): Promise<boolean> {
  const rows = await tx.query(INSERT, [teamId, ...valuesIn(STORED, toStored(row))]);
  return rows.length > 0;
}

const UPDATE = statement(
  'trainings.update',
  `update training
   set ${assigned(CHANGEABLE, 3)}
   where team_id = $1 and id = $2`,
  { because: 'pipelined' },
);

/** Writes the columns that a step may change. */
export function updateTraining(tx: Tx, teamId: string, row: TrainingRow): void {
  tx.send(UPDATE, [teamId, row.id, ...valuesIn(CHANGEABLE, toStored(row))]);
}

function toStored(row: TrainingRow) {
  const { external_ref: ref } = row;
  const isNull = ref === null;
  return {
    ...row,
    external_ref: isNull ? null : JSON.stringify(ref),
    json_bytes: isNull ? null : jsonBytes(ref),
  };
}

const MARK_SCORED = statement(
  'trainings.markScored',
  `update training set status = 'scored' where team_id = $1 and id = $2`,
  { because: 'pipelined' },
);

/** Sets the status `scored`. */
export function markScored(tx: Tx, teamId: string, trainingId: string): void {
  tx.send(MARK_SCORED, [teamId, trainingId]);
}
