import { jsonBytes } from '../../core/json.ts';
import { statement, type Tx } from '../../db/client.ts';
import { assigned, columnsOf, listed, parameters, valuesIn } from '../../db/rows.ts';
import { COLUMNS, type TrainingRow } from './store.ts';

/**
 * Locks the person until the transaction ends. Other writers of the person's trainings, evaluations
 * and figures wait. Every writer locks the person first, then assignments, then the rows
 * themselves, so that they cannot deadlock.
 */
export const lockPerson = statement(
  'trainings.lockPerson',
  `select
   from person
   where team_id = $1 and id = $2
   for no key update`,
).sends<[tx: Tx, teamId: string, userId: string]>();

/**
 * Locks the person of a training. Returns false if there was no such training. Then nothing is
 * locked, even if the training has been inserted since.
 */
export const lockPersonOf = statement<{ id: string }>(
  'trainings.lockPersonOf',
  `select id
   from person
   where team_id = $1
     and id = (select user_id from training where team_id = $1 and id = $2)
   for no key update`,
).matches<[tx: Tx, teamId: string, trainingId: string]>();

/** Whether the team knows the person, as a member of any status. */
export const knowsPerson = statement(
  'trainings.knowsPerson',
  'select from person where team_id = $1 and id = $2',
).matches<[tx: Tx, teamId: string, userId: string]>();

/** The training, even if its person is no longer a member; null if there is none. */
export const findTrainingOfAnybody = statement<TrainingRow>(
  'trainings.findOfAnybody',
  `select ${listed(COLUMNS)} from training where team_id = $1 and id = $2`,
).finds<[tx: Tx, teamId: string, trainingId: string]>();

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
);

/** Writes the columns that a step may change. */
export function updateTraining(tx: Tx, teamId: string, row: TrainingRow): void {
  tx.send(UPDATE, [teamId, row.id, ...valuesIn(CHANGEABLE, toStored(row))]);
}

// By the clock of the database, as an evaluation that is saved; Citus takes no `clock_timestamp()`.
/**
 * Moves a training that has an evaluation to the front of `GET /evaluations`. Needs the person's
 * lock. Send it last: others see the row from COMMIT on, under the time at which this runs.
 */
export const listAgain = statement(
  'trainings.listAgain',
  `update evaluation
   set stored_at = statement_timestamp()
   where team_id = $1 and training_id = $2`,
).sends<[tx: Tx, teamId: string, trainingId: string]>();

function toStored(row: TrainingRow) {
  const { external_ref: ref } = row;
  const isNull = ref === null;
  return {
    ...row,
    external_ref: isNull ? null : JSON.stringify(ref),
    json_bytes: isNull ? null : jsonBytes(ref),
  };
}

/** Sets the status `scored`. */
export const markScored = statement(
  'trainings.markScored',
  `update training set status = 'scored' where team_id = $1 and id = $2`,
).sends<[tx: Tx, teamId: string, trainingId: string]>();
