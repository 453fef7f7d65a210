import { statement, type Tx } from '../../db/client.ts';
import { assigned, columnsOf, listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';
import { toStored } from './store.ts';

const CASE = columnsOf('TrainingCase', 'team_id', 'json_bytes');
const STORED = columnsOf('TrainingCase', 'team_id');
const CHANGEABLE = columnsOf('TrainingCase', 'team_id', 'id', 'user_id', 'created_at');

/** A case as the host application sees it, private or not. */
export type PlatformCaseRow = RowOf<'TrainingCase', (typeof CASE)[number]>;

const FIND_FOR_UPDATE = statement<PlatformCaseRow>(
  'cases.findForUpdate',
  `select ${listed(CASE)}
   from training_case
   where team_id = $1 and id = $2
   for no key update`,
);

/** The case, private or not, locked until the transaction ends; null if there is none. */
export function findCaseForUpdate(
  tx: Tx,
  teamId: string,
  caseId: string,
): Promise<PlatformCaseRow | null> {
  return tx.queryFirst(FIND_FOR_UPDATE, [teamId, caseId]);
}

const INSERT = statement<{ id: string }>(
  'cases.insertOfPlatform',
  `insert into training_case (team_id, ${listed(STORED)})
   values ($1, ${parameters(STORED, 2)})
   on conflict (team_id, id) do nothing
   returning id`,
);

/** False if the id exists. Waits for another transaction that inserts the same id. */
export async function insertCase(tx: Tx, teamId: string, row: PlatformCaseRow): Promise<boolean> {
  const values = valuesIn(STORED, toStored(row));
  return (await tx.query(INSERT, [teamId, ...values])).length > 0;
}

const UPDATE = statement(
  'cases.updateOfPlatform',
  `update training_case
   set ${assigned(CHANGEABLE, 3)}
   where team_id = $1 and id = $2`,
  { because: 'pipelined' },
);

/** Writes all values that a change can set. Does not wait for the database. */
export function updateCase(tx: Tx, teamId: string, row: PlatformCaseRow): void {
  tx.send(UPDATE, [teamId, row.id, ...valuesIn(CHANGEABLE, toStored(row))]);
}

const REMOVE = statement<{ id: string }>(
  'cases.removeOfPlatform',
  'delete from training_case where team_id = $1 and id = $2 returning id',
  { because: 'pipelined' },
);

/** Removes the case, private or not. False if there is none. */
export async function removeCase(tx: Tx, teamId: string, caseId: string): Promise<boolean> {
  return (await tx.query(REMOVE, [teamId, caseId])).length > 0;
}
