import { statement, type Tx } from '../../db/client.ts';
import { columnsOf, listed, parameters, valuesIn } from '../../db/rows.ts';
import { toStored, type StoredCaseRow } from './store.ts';

const STORED = columnsOf('TrainingCase', 'team_id');

const INSERT = statement<{ id: string }>(
  'cases.insertOfPlatform',
  `insert into training_case (team_id, ${listed(STORED)})
   values ($1, ${parameters(STORED, 2)})
   on conflict (team_id, id) do nothing
   returning id`,
);

/** False if the id exists. Waits for another transaction that inserts the same id. */
export async function insertCase(tx: Tx, teamId: string, row: StoredCaseRow): Promise<boolean> {
  const values = valuesIn(STORED, toStored(row));
  return (await tx.query(INSERT, [teamId, ...values])).length > 0;
}

/** Removes the case, private or not. False if there is none. */
export const removeCase = statement<{ id: string }>(
  'cases.removeOfPlatform',
  'delete from training_case where team_id = $1 and id = $2 returning id',
).matches<[tx: Tx, teamId: string, caseId: string]>();
