import { jsonBytes } from '../../core/json.ts';
import { statement, type Tx } from '../../db/client.ts';
import type { CaseRow } from './store.ts';

/** A case as the host application sees it, private or not. */
export interface PlatformCaseRow extends CaseRow {
  readonly private: boolean;
}

const COLUMNS = 'id, user_id, title, persona_id, fields, external_ref, created_at, private';

const FIND_FOR_UPDATE = statement<PlatformCaseRow>(
  'cases.findForUpdate',
  `select ${COLUMNS}
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
  `insert into training_case (team_id, ${COLUMNS}, json_bytes)
   values ($1, $2, $3, $4, $5, $6::json, $7::json, $8, $9, $10)
   on conflict (team_id, id) do nothing
   returning id`,
);

/** False if the id exists. Waits for another transaction that inserts the same id. */
export async function insertCase(tx: Tx, teamId: string, row: PlatformCaseRow): Promise<boolean> {
  const { id, user_id, title, persona_id, fields, external_ref, created_at } = row;
  const values = [
    teamId,
    id,
    user_id,
    title,
    persona_id,
    toJson(fields),
    toJson(external_ref),
    created_at,
    row.private,
    jsonBytes(fields, external_ref),
  ];
  return (await tx.query(INSERT, values)).length > 0;
}

const UPDATE = statement(
  'cases.updateOfPlatform',
  `update training_case
   set title = $3, persona_id = $4, fields = $5::json, external_ref = $6::json, private = $7,
     json_bytes = $8
   where team_id = $1 and id = $2`,
);

/** Writes all values that a change can set. Does not wait for the database. */
export function updateCase(tx: Tx, teamId: string, row: PlatformCaseRow): void {
  const { id, title, persona_id, fields, external_ref } = row;
  tx.send(UPDATE, [
    teamId,
    id,
    title,
    persona_id,
    toJson(fields),
    toJson(external_ref),
    row.private,
    jsonBytes(fields, external_ref),
  ]);
}

const REMOVE = statement<{ id: string }>(
  'cases.removeOfPlatform',
  'delete from training_case where team_id = $1 and id = $2 returning id',
);

/** Removes the case, private or not. False if there is none. */
export async function removeCase(tx: Tx, teamId: string, caseId: string): Promise<boolean> {
  return (await tx.query(REMOVE, [teamId, caseId])).length > 0;
}

function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
