import type { MeasuredRow, PagePosition, PageSlice } from '../../core/page.ts';
import { ASSIGNMENT_STATUSES, type AssignmentStatus } from '../../core/vocabularies.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { assigned, columnsOf, listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';
import {
  ASSIGNMENT_COLUMNS,
  COLUMNS,
  isLong,
  measured,
  PAGE_WITH_MEMBERS,
  unmeasured,
  type AssignmentRow,
  type Reading,
  type UnmeasuredRow,
} from './page-store.ts';
import { COMBINED, type Combination, type CombinationFacts } from './rules.ts';

const listText = (reading: Reading): string => {
  const { page, columns } = reading({
    rows: `select *
     from assignment
     where team_id = $1
       and ${isAfter(BY_CREATION, ['$3', '$4'])}
     ${newestFirst(BY_CREATION, '$2')}`,
    order: BY_CREATION,
  });
  return `with ${page}
   select ${columns}
   from ${PAGE_WITH_MEMBERS}
   ${newestFirst(['a.created_at', 'a.id'])}`;
};

const LIST = statement<AssignmentRow & UnmeasuredRow>('assignments.list', listText(unmeasured));
const LIST_MEASURED = statement<AssignmentRow & MeasuredRow>(
  'assignments.listMeasured',
  listText(measured),
);

/**
 * Assignments of any status, newest first, after `after`; as `MeasuredRow` if they are large. One
 * round trip, or two if they are.
 */
export async function listAssignments(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<AssignmentRow[]> {
  const values = [teamId, limit, ...positionValues(after)];
  const rows = await db.query(LIST, values);
  return isLong(rows) ? db.query(LIST_MEASURED, values) : rows;
}

/** An assignment of any status; null if the team has none with this id. */
export const findAssignment = statement<AssignmentRow>(
  'assignments.find',
  `select ${ASSIGNMENT_COLUMNS}
   from assignment a
   join member m on m.team_id = a.team_id and m.id = a.member_id
   where a.team_id = $1 and a.id = $2`,
).finds<[db: Db, teamId: string, assignmentId: string]>();

export interface RecipientRow {
  /** null: the invitation was not accepted yet. */
  readonly user_id: string | null;
  readonly email: string;
}

interface RecipientFactsRow extends RecipientRow, CombinationFacts {
  /** Of the assignment among those that are wanted, from 0. */
  readonly place: number;
}

/** SQL: the ids of the combination of an assignment `w`. */
const WANTED_IDS = 'array[w.situation_id, w.personality_id, w.industry_id]';
/** SQL: the id that the combination has for the kind of an entry `e`. */
const ID_OF_KIND = `case e.kind
         when 'situation' then w.situation_id
         when 'personality' then w.personality_id
         when 'industry' then w.industry_id
       end`;

// Share-locks the members' rows, in the order of their key: a removal at the same time waits, or is
// seen here. So no assignment is created for a member who has just left. A team's own entry hides a
// global one with its id. A table is searched for all three ids at once, and rules by their index.
// Each rule names two dimensions or three, so one without a situation begins with the personality.
function recipientsText({ ofMember, wanted }: { ofMember: string; wanted: string }): string {
  return `with recipient as (
     ${ofMember}
   )
   select (w.place - 1)::int as place, r.user_id, r.email,
     array(
       select e.kind
       from team_catalog_entry e
       where e.team_id = $1 and e.id = any (${WANTED_IDS}) and e.id = ${ID_OF_KIND}
       union all
       select e.kind
       from catalog_entry e
       where e.id = any (${WANTED_IDS})
         and e.id = ${ID_OF_KIND}
         and not exists (
           select from team_catalog_entry o
           where o.team_id = $1 and o.id = e.id
         )
         and (
           exists (select from team t where t.id = $1 and t.all_released)
           or exists (
             select from catalog_release c
             where c.team_id = $1 and c.entry_id = e.id
           )
         )
     ) as visible,
     case
       when exists (
         select from catalog_rule c
         where c.situation_id = w.situation_id
           and (c.personality_id is null or c.personality_id = w.personality_id)
           and (c.industry_id is null or c.industry_id = w.industry_id)
       ) then 'situation'
       when exists (
         select from catalog_rule c
         where c.situation_id is null
           and c.personality_id = w.personality_id
           and c.industry_id = w.industry_id
       ) then 'personality'
     end as forbidden,
     array(
       select b.entry_id
       from team_block b
       where b.team_id = $1 and b.entry_id = any (${WANTED_IDS})
       union all
       select b.entry_id
       from member_block b
       where b.team_id = $1 and b.member_id = w.member_id and b.entry_id = any (${WANTED_IDS})
     ) as blocked
   from ${wanted} as w (member_id, situation_id, personality_id, industry_id, place)
   join recipient r on r.id = w.member_id`;
}

function lockedText(memberId: string): string {
  return `select id, user_id, email
     from member
     where team_id = $1 and id = ${memberId} and status <> 'ended'
     for share`;
}

// One assignment is not a list of one: without a list, Postgres neither sorts nor joins, and the
// service creates 15 % more a second.
const READ_RECIPIENT = statement<RecipientFactsRow>(
  'assignments.readRecipient',
  recipientsText({ ofMember: lockedText('$2'), wanted: '(values ($2, $3, $4, $5, 1))' }),
);

const READ_RECIPIENTS = statement<RecipientFactsRow>(
  'assignments.readRecipients',
  recipientsText({
    // For a list of ids the planner may read all members of the team.
    ofMember: `select m.*
     from (select distinct id from unnest($2::text[]) id order by id) w
     cross join lateral (
       ${lockedText('w.id')}
     ) m`,
    wanted: 'unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality',
  }),
);

export interface Recipient {
  readonly member: RecipientRow;
  readonly facts: CombinationFacts;
}

/** An assignment that is wanted, as far as it decides whether it is allowed. */
export interface Wanted {
  readonly memberId: string;
  readonly combination: Combination;
}

/**
 * The recipient of each assignment, and what decides whether its combination is allowed. Null if
 * the member has left or does not exist. One round trip for all of them.
 */
export async function readRecipients(
  tx: Tx,
  teamId: string,
  wanted: readonly Wanted[],
): Promise<(Recipient | null)[]> {
  const columns = [
    wanted.map(({ memberId }) => memberId),
    ...COMBINED.map((dimension) => wanted.map(({ combination }) => combination[dimension])),
  ];
  const rows =
    wanted.length === 1
      ? await tx.query(READ_RECIPIENT, [teamId, ...columns.flat()])
      : await tx.query(READ_RECIPIENTS, [teamId, ...columns]);
  const recipients = wanted.map((): Recipient | null => null);
  for (const { place, user_id, email, ...facts } of rows)
    recipients[place] = { member: { user_id, email }, facts };
  return recipients;
}

// The time of a change is the database's, whose clock all processes share.
const INSERT = statement(
  'assignments.insert',
  `insert into assignment (team_id, ${listed(COLUMNS)}, updated_at)
   values ($1, ${parameters(COLUMNS, 2)}, clock_timestamp())`,
);

/** Does not wait for the database. */
export function insertAssignment(tx: Tx, teamId: string, row: AssignmentRow): void {
  tx.send(INSERT, [teamId, ...valuesIn(COLUMNS, toStored(row))]);
}

/** The row as it is written: JSON as text. */
function toStored(row: AssignmentRow) {
  const { external_ref: ref } = row;
  return { ...row, external_ref: ref && JSON.stringify(ref) };
}

/** The columns that a change sets: all but those that stay as they were created. */
export const CHANGEABLE = columnsOf(
  'Assignment',
  'team_id',
  'id',
  'member_id',
  'title',
  'situation_id',
  'personality_id',
  'industry_id',
  'focus_dimension',
  'completed_training_id',
  'created_at',
  'updated_at',
);

const UPDATE = statement(
  'assignments.update',
  `update assignment
   set ${assigned(CHANGEABLE, 3)}, updated_at = statement_timestamp()
   where team_id = $1 and id = $2`,
);

/** Writes the columns of `CHANGEABLE`. */
export function updateAssignment(tx: Tx, teamId: string, row: AssignmentRow): void {
  tx.send(UPDATE, [teamId, row.id, ...valuesIn(CHANGEABLE, toStored(row))]);
}

// Clears the reference of its trainings in the same statement, which satisfies the foreign key.
const REMOVE = statement(
  'assignments.remove',
  `with released as (
     update training
     set assignment_id = null
     where team_id = $1 and assignment_id = $2
   )
   delete from assignment
   where team_id = $1 and id = $2`,
);

// Locks before the statement that removes, which then sees a training that was recorded for the
// assignment while this one waited.
const LOCK_FOR_REMOVAL = statement(
  'assignments.lockForRemoval',
  `select
   from assignment
   where team_id = $1 and id = $2
   for update`,
);

/** Removes the assignment. False if the team has none with this id. */
export async function removeAssignment(
  tx: Tx,
  teamId: string,
  assignmentId: string,
): Promise<boolean> {
  const locked = await tx.query(LOCK_FOR_REMOVAL, [teamId, assignmentId]);
  // One that has appeared since, in a team that was seeded anew, is not locked: it stays.
  if (locked.length === 0) return false;
  tx.send(REMOVE, [teamId, assignmentId]);
  return true;
}

const STEP = 1_000;

// In the order of the index, so it reads what the member has, however many the team has.
const NEXT_OF_MEMBER = statement<RowOf<'Assignment', 'created_at' | 'id'>>(
  'assignments.nextOfMember',
  `select created_at, id
   from assignment
   where team_id = $1 and member_id = $2 and status = $3
     and ${isAfter(BY_CREATION, ['$4', '$5'])}
   ${newestFirst(BY_CREATION, STEP)}`,
);

// By id, as whoever locks two assignments does.
const LOCK_SOME = statement(
  'assignments.lockSome',
  `select
   from assignment
   where team_id = $1 and id = any ($2::text[])
   order by id
   for no key update`,
);

// Statements of their own, so that their time is after the locks.
const TOUCH = statement(
  'assignments.touch',
  `update assignment
   set updated_at = statement_timestamp()
   where team_id = $1 and id = any ($2::text[])`,
);
const REVOKE = statement(
  'assignments.revoke',
  `update assignment
   set status = 'revoked', updated_at = statement_timestamp()
   where team_id = $1 and id = any ($2::text[]) and status = 'open'`,
);

/**
 * How far the assignments of a member have been changed, those of each status by themselves. null:
 * none of them. A status that is not there is done.
 */
export type Progress = ReadonlyMap<AssignmentStatus, PagePosition | null>;

/**
 * Changes the next assignments of a member, at most 1,000 of each status: a member may have more
 * than a statement can change in its time.
 */
async function changeNext(
  tx: Tx,
  [teamId, memberId]: readonly [teamId: string, memberId: string],
  progress: Progress,
  change: typeof TOUCH,
): Promise<Progress> {
  const found = await Promise.all(
    Array.from(progress, async ([status, after]) => {
      const values = [teamId, memberId, status, ...positionValues(after)];
      return { status, rows: await tx.query(NEXT_OF_MEMBER, values) };
    }),
  );
  const ids = found.flatMap(({ rows }) => rows.map(({ id }) => id));
  if (ids.length > 0) {
    tx.send(LOCK_SOME, [teamId, ids]);
    tx.send(change, [teamId, ids]);
  }
  return new Map(
    found.flatMap(({ status, rows }) => {
      const last = rows[STEP - 1];
      return last ? [[status, { at: last.created_at, id: last.id }] as const] : [];
    }),
  );
}

/** Revokes the open assignments of a member who leaves the team. */
export async function revokeOpenAssignments(
  tx: Tx,
  teamId: string,
  memberId: string,
): Promise<void> {
  let progress: Progress = new Map([['open', null]]);
  while (progress.size > 0) progress = await changeNext(tx, [teamId, memberId], progress, REVOKE);
}

export const NOTHING_TOUCHED: Progress = new Map(
  ASSIGNMENT_STATUSES.map((status) => [status, null]),
);

/** Makes the next assignments of a membership count as changed now. Returns how far that is. */
export function touchAssignments(
  tx: Tx,
  teamId: string,
  memberId: string,
  progress: Progress,
): Promise<Progress> {
  return changeNext(tx, [teamId, memberId], progress, TOUCH);
}
