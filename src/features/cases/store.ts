import { jsonBytes } from '../../core/json.ts';
import type { MeasuredRow, PagePosition } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { bytesOf, thatFit } from '../../db/page-size.ts';
import {
  assigned,
  columnsOf,
  listed,
  parameters,
  selectionOf,
  valuesIn,
  type RowOf,
} from '../../db/rows.ts';

const CASE = columnsOf('TrainingCase', 'team_id', 'private', 'json_bytes');
const COLUMNS = listed(CASE);

/** A case without the mark whether it is private. */
export type CaseRow = RowOf<'TrainingCase', (typeof CASE)[number]>;

// `not private` is in the text, not a parameter. Otherwise a prepared statement could not use the
// partial indexes.
const LIST_TEXT = (condition: string): string =>
  thatFit({
    columns: COLUMNS,
    rows: `select ${COLUMNS}, json_bytes + ${bytesOf('title', 'persona_id')} as bytes
       from training_case
       where team_id = $1
         and not private ${condition}
         and ${isAfter(BY_CREATION, ['$3', '$4'])}
       ${newestFirst(BY_CREATION, '$2')}`,
    order: BY_CREATION,
  });

const LIST = statement<CaseRow & MeasuredRow>('cases.list', LIST_TEXT(''));
const LIST_OF_USER = statement<CaseRow & MeasuredRow>(
  'cases.listOfUser',
  LIST_TEXT('and user_id = $5'),
);

export interface CaseFilter {
  readonly limit: number;
  readonly after: PagePosition | null;
  /** null: of all people. */
  readonly userId: string | null;
}

/** Lists team cases, newest first, after `after`. Never private ones. */
export function listCases(
  db: Db,
  teamId: string,
  { limit, after, userId }: CaseFilter,
): Promise<(CaseRow & MeasuredRow)[]> {
  const values = [teamId, limit, ...positionValues(after)];
  return userId === null ? db.query(LIST, values) : db.query(LIST_OF_USER, [...values, userId]);
}

// A case by its key, for Prisma. Does not match a private one.
const teamCase = (teamId: string, id: string) => ({ teamId, id, private: false });
const SHOWN = selectionOf('TrainingCase', CASE);

/** The case; null if there is none, or it is private. */
export async function findCase(db: Db, teamId: string, caseId: string): Promise<CaseRow | null> {
  const found = await db.prisma.trainingCase.findFirst({
    where: teamCase(teamId, caseId),
    select: SHOWN.select,
  });
  return found && SHOWN.toRow(found);
}

const LOCK_OWNER = statement<{ id: string }>(
  'cases.lockOwner',
  `select id
   from member
   where team_id = $1 and user_id = $2 and status = 'active'
   for share`,
);

/**
 * Whether the person is an active member. If so, the person stays one until the transaction ends: a
 * removal waits.
 */
export async function lockActiveMember(tx: Tx, teamId: string, userId: string): Promise<boolean> {
  const rows = await tx.query(LOCK_OWNER, [teamId, userId]);
  return rows.length > 0;
}

// A statement, not Prisma: nobody reads its result, so it is sent together with COMMIT.
const INSERT = statement(
  'cases.insert',
  `insert into training_case (team_id, ${COLUMNS}, json_bytes)
   values ($1, ${parameters([...CASE, 'json_bytes'], 2)})`,
);

/** Does not wait for the database. */
export function insertCase(tx: Tx, teamId: string, row: CaseRow): void {
  const stored = toStored(row);
  tx.send(INSERT, [teamId, ...valuesIn(CASE, stored), stored.json_bytes]);
}

/** The row as it is written: JSON as text, and its size. */
export function toStored<Row extends CaseRow>(row: Row) {
  const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
  return {
    ...row,
    fields: json(row.fields),
    external_ref: json(row.external_ref),
    json_bytes: jsonBytes(row.fields, row.external_ref),
  };
}

/** The fields that a change can set; undefined leaves a value as it is, null clears it. */
export interface CaseChange {
  readonly title?: string | null | undefined;
  readonly persona_id?: string | null | undefined;
  readonly fields?: object | null | undefined;
  readonly external_ref?: object | null | undefined;
}

const STORED_CASE = columnsOf('TrainingCase', 'team_id', 'json_bytes');

/** A case, private or not. */
export type StoredCaseRow = RowOf<'TrainingCase', (typeof STORED_CASE)[number]>;

/** The case, private or not, locked until the transaction ends; null if there is none. */
export const findCaseForUpdate = statement<StoredCaseRow>(
  'cases.findForUpdate',
  `select ${listed(STORED_CASE)}
   from training_case
   where team_id = $1 and id = $2
   for no key update`,
).finds<[tx: Tx, teamId: string, caseId: string]>();

const CHANGEABLE = columnsOf('TrainingCase', 'team_id', 'id', 'user_id', 'created_at');

const UPDATE = statement(
  'cases.update',
  `update training_case
   set ${assigned(CHANGEABLE, 3)}
   where team_id = $1 and id = $2`,
);

/** Writes all values that a change can set. Does not wait for the database. */
export function updateCase(tx: Tx, teamId: string, row: StoredCaseRow): void {
  tx.send(UPDATE, [teamId, row.id, ...valuesIn(CHANGEABLE, toStored(row))]);
}

/** Removes the case. False if there is none, or it is private. */
export const removeCase = statement<{ id: string }>(
  'cases.remove',
  'delete from training_case where team_id = $1 and id = $2 and not private returning id',
).matches<[tx: Tx, teamId: string, caseId: string]>();
