import type { PageSlice, SearchResult } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, newestFirst } from '../../db/keyset.ts';
import { queryTeams } from '../../db/parts.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import { FIRST_FILTER, IN_TIME, search, type FoundRow, type TimeRange } from '../../db/search.ts';
import { READ_MAX, SLOTS, type LoggedFault } from './rules.ts';

/** What customers see of a call. Which limit of ours refused it, only operators ask. */
const CALL = columnsOf('RequestLog', 'team_id', 'slot', 'limited_by');
const COLUMNS = listed(CALL);

/** A call as it is kept. */
export interface RequestRow extends RowOf<'RequestLog', (typeof CALL)[number]> {
  readonly errors: readonly LoggedFault[] | null;
}

/** What is searched for. All given filters must match. */
export interface RequestFilters extends TimeRange {
  readonly id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly route?: string | undefined;
  readonly status?: number | undefined;
  readonly error_code?: string | undefined;
  readonly statuses: readonly [min: number, max: number];
}

/** The filters that compare a column with a value, and the types of their parameters. */
const EQUALITIES = [
  ['id', 'text'],
  ['key_id', 'text'],
  ['route', 'text'],
  ['status', 'int'],
  ['error_code', 'text'],
] as const;

const STATUSES = FIRST_FILTER + EQUALITIES.length;

/** SQL: the call is searched for. */
const IS_WANTED = [
  `status between $${STATUSES} and $${STATUSES + 1}`,
  ...EQUALITIES.map(([name, type], place) => {
    const value = `$${FIRST_FILTER + place}`;
    return `(${value}::${type} is null or ${name} is not distinct from ${value})`;
  }),
].join(`
             and `);

// Reads on until it has a page, or READ_MAX calls. The last of those is kept, wanted or not: it
// tells how far the search has read.
const LIST = statement<FoundRow<RequestRow>>(
  'requests.list',
  `with found as materialized (
     select *
     from (
       select ${COLUMNS},
         row_number() over (${newestFirst(BY_CREATION)}) = ${READ_MAX} as is_end,
         ${IS_WANTED} as is_wanted
       from (
         select ${COLUMNS}
         from request_log
         where team_id = $1
           and ${IN_TIME}
         ${newestFirst(BY_CREATION, READ_MAX)}
       ) range
     ) read
     where is_wanted or is_end
     ${newestFirst(BY_CREATION, '$2')}
   )
   select ${listed(CALL, 'page.')}, last.reached_at, last.reached_id
   from (values (1)) one
   left join (
     select created_at as reached_at, id as reached_id
     from found
     where is_end
   ) last on true
   left join found page on page.is_wanted
   ${newestFirst(['page.created_at', 'page.id'])}`,
  { isMerged: true },
);

/**
 * Lists the team's calls, newest first, after `after`. It can find fewer than the limit although
 * more follow: then it says how far it has read.
 */
export function listRequests(
  db: Db,
  teamId: string,
  slice: PageSlice,
  { since, until, statuses, ...filters }: RequestFilters,
): Promise<SearchResult<RequestRow>> {
  const values = [...EQUALITIES.map(([name]) => filters[name] ?? null), ...statuses];
  return search(db, teamId, slice, { list: LIST, values, since, until });
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

/** Whether the partition holds calls from before this moment, of whichever team. */
export const hasOld = statement(
  'requests.findOld',
  'select from request_log where slot = $1 and created_at < $2 limit 1',
).matches<[db: Db, slot: number, before: Date]>();

/** Removes all calls of a partition at once. Gives up if somebody reads it for half a second. */
export function emptySlot(tx: Tx, slot: number): void {
  const empty = EMPTY[slot];
  if (!empty) throw new Error(`there is no partition ${slot}`);
  tx.send(WAIT_BRIEFLY, []);
  tx.send(empty, []);
}

/** It takes tens of milliseconds. */
const REMOVED_MAX = 1_000;

// By the index of each team's calls by time, in its order. Without old ones, that is all that it
// reads. Otherwise, if one team makes nearly all calls, the planner expects many of each team, and
// reads whole days once for each.
const REMOVE_OLD = statement(
  'requests.removeOld',
  `with old as materialized (
     select r.team_id, r.slot, r.id
     from unnest($1::text[]) as n (team_id)
     cross join lateral (
       select team_id, slot, id
       from request_log
       where team_id = n.team_id and created_at < $2
       order by created_at, id
       limit ${REMOVED_MAX}
       for update skip locked
     ) r
     limit ${REMOVED_MAX}
   )
   delete from request_log l
   using old
   where l.team_id = old.team_id and l.slot = old.slot and l.id = old.id
   returning l.id`,
  { isMerged: true },
);

/** Removes some calls of these teams from before this moment. Returns how many; 0: none is left. */
export async function removeOld(db: Db, teamIds: readonly string[], before: Date): Promise<number> {
  return (await queryTeams(db, REMOVE_OLD, [teamIds, before])).length;
}
