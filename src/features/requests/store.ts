import { PAGE_LIMIT_MAX, type PageSlice } from '../../core/page.ts';
import { statement, statementsByFilters, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import { SLOTS, type LoggedFault } from './rules.ts';

/** What customers see of a call. Which limit of ours refused it, only operators ask. */
const CALL = columnsOf('RequestLog', 'team_id', 'slot', 'limited_by');
const COLUMNS = listed(CALL);

/** A call as it is kept. */
export interface RequestRow extends RowOf<'RequestLog', (typeof CALL)[number]> {
  readonly errors: readonly LoggedFault[] | null;
}

/** Filters that compare a column with a value. */
const EQUALITIES = ['id', 'key_id', 'route', 'status', 'error_code'] as const;

export type RequestFilters = {
  readonly [name in (typeof EQUALITIES)[number]]?: string | number | undefined;
};

// A search for rare values reads the calls of the team's seven days, in the time that a statement
// may take.
const listOf = statementsByFilters(EQUALITIES, (named) =>
  statement<RequestRow>(
    ['requests.list', ...named].join('.'),
    `select ${COLUMNS}
     from (
       select ${COLUMNS}
       from request_log
       where team_id = $1
         and ${isAfter(BY_CREATION, ['$3', '$4'])}
         and created_at >= $5
         and created_at < coalesce($6::timestamptz, 'infinity')
         and status between $7 and $8
         ${named.map((name, place) => `and ${name} = $${place + 9}`).join(' ')}
       ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
    { isSearch: named.length > 0 },
  ),
);

/** When the calls came, and the range of their status. `until` null: until now. */
export interface RequestRange {
  readonly since: string;
  readonly until: string | null;
  readonly statuses: readonly [min: number, max: number];
}

/** Lists the team's calls of this range, newest first, after `after`. */
export function listRequests(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
  { since, until, statuses, ...filters }: RequestFilters & RequestRange,
): Promise<RequestRow[]> {
  const { list, values } = listOf(filters);
  const range = [since, until, ...statuses];
  return db.query(list, [teamId, limit, ...positionValues(after), ...range, ...values]);
}

const FIND = statement<RequestRow>(
  'requests.find',
  `select ${COLUMNS}
   from request_log
   where team_id = $1 and slot = $2 and id = $3 and created_at >= $4
     and key_id = coalesce($5, key_id)`,
);

/** Which call to find. `keyId` null: of any key. */
export interface WantedRequest {
  readonly id: string;
  readonly slot: number;
  readonly since: Date;
  readonly keyId: string | null;
}

/** The call, or null. */
export function findRequest(
  db: Db,
  teamId: string,
  { id, slot, since, keyId }: WantedRequest,
): Promise<RequestRow | null> {
  return db.queryFirst(FIND, [teamId, slot, id, since, keyId]);
}

/** A call to keep. */
export type NewRequest = RequestRow & RowOf<'RequestLog', 'team_id' | 'slot' | 'limited_by'>;

// Teams that are gone, or are being erased, are left out.
const ADD = statement(
  'requests.add',
  `insert into request_log (team_id, slot, ${COLUMNS}, limited_by)
   select n.team_id, n.slot, ${listed(CALL, 'n.')}, n.limited_by
   from json_to_recordset($1) as n (
     team_id text, slot int, id text, created_at timestamptz, key_id text, method text, route text,
     status int, duration_ms int, network text, error_code text, errors json,
     limited_by text
   )
   join team t on t.id = n.team_id and t.erasing_since is null
   on conflict do nothing`,
);

/** Keeps calls of all teams, in one statement: the process has collected them. */
export async function addRequests(db: Db, rows: readonly NewRequest[]): Promise<void> {
  await db.query(ADD, [JSON.stringify(rows)]);
}

const WAIT_BRIEFLY = statement('requests.waitBriefly', `set local lock_timeout = '500ms'`);

const EMPTY = Array.from({ length: SLOTS }, (_, slot) =>
  statement(`requests.empty.${slot}`, `truncate request_days.day_${slot}`),
);

const FIND_ANY = statement('requests.findAny', 'select from request_log where slot = $1 limit 1', {
  because: 'many teams',
});

/** Whether the partition holds calls, of whichever team. */
export async function hasRows(db: Db, slot: number): Promise<boolean> {
  return (await db.query(FIND_ANY, [slot])).length > 0;
}

/** Removes all calls of a partition at once. Gives up if somebody reads it for half a second. */
export function emptySlot(tx: Tx, slot: number): void {
  const empty = EMPTY[slot];
  if (!empty) throw new Error(`there is no partition ${slot}`);
  tx.send(WAIT_BRIEFLY, []);
  tx.send(empty, []);
}
