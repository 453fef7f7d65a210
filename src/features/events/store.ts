import { PAGE_LIMIT_MAX, type PageSlice, type SearchResult } from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { listed, type RowOf } from '../../db/rows.ts';
import { FIRST_FILTER, IN_TIME, search, type FoundRow as SearchRow } from '../../db/search.ts';

const SHOWN = ['id', 'type', 'created_at', 'data'] as const;
const COLUMNS = listed(SHOWN);

export interface EventRow extends RowOf<'Event', (typeof SHOWN)[number]> {
  readonly data: Record<string, unknown>;
}

export interface EventFilters {
  readonly type?: string | undefined;
  /** ISO, inclusive. */
  readonly since?: string | undefined;
}

const LIST = statement<EventRow>(
  'events.list',
  `select ${COLUMNS}
   from (
     select ${COLUMNS}
     from event
     where team_id = $1
       and ${isAfter(BY_CREATION, ['$3', '$4'])}
       and created_at >= coalesce($5::timestamptz, '-infinity')
     ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
   ) page
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** How many events a search by type reads before it returns a page. */
const READ_MAX = 10_000;

// The index holds the type, so events of other types are passed without being read.
const RANGE = `select created_at, id, type
         from event
         where team_id = $1
           and ${IN_TIME}
         ${newestFirst(BY_CREATION, READ_MAX)}`;

const LIST_OF_TYPE = statement<SearchRow<EventRow>>(
  'events.list.type',
  `with page as materialized (
     select created_at, id
     from (
         ${RANGE}
     ) range
     where type = $${FIRST_FILTER}
     ${newestFirst(BY_CREATION, '$2')}
   ), last as materialized (
     select created_at as reached_at, id as reached_id
     from (
         ${RANGE}
     ) range
     where (select count(*) from page) < $2
     ${newestFirst(BY_CREATION)}
     offset ${READ_MAX - 1}
     limit 1
   )
   select ${listed(SHOWN, 'found.')}, last.reached_at, last.reached_id
   from (values (1)) one
   left join last on true
   left join (
     select e.*
     from page
     cross join lateral (
       select ${COLUMNS}
       from event
       where team_id = $1 and id = page.id
       limit 1
     ) e
   ) found on true
   ${newestFirst(['found.created_at', 'found.id'])}`,
  { inOrder: true },
);

/**
 * Lists the team's events, newest first, after `after`. One type can have fewer than the limit
 * although more follow: then it says how far it has read.
 */
export async function listEvents(
  db: Db,
  teamId: string,
  slice: PageSlice,
  { since, type }: EventFilters,
): Promise<SearchResult<EventRow>> {
  if (type !== undefined)
    return search(db, teamId, slice, { list: LIST_OF_TYPE, values: [type], since });
  const { limit, after } = slice;
  const values = [teamId, limit, ...positionValues(after), since ?? null];
  return { rows: await db.query(LIST, values), reached: null };
}

/** An event with its place, in digits. */
export interface PlacedRow extends EventRow {
  readonly place: string;
}

/** Finds the event with the last place; null: none has one. */
export const findLast = statement<Pick<PlacedRow, 'id' | 'place'>>(
  'events.findLast',
  `select id, place
   from event
   where team_id = $1 and place is not null
   order by place desc
   limit 1`,
).finds<[db: Db, teamId: string]>();

/** The last event that a search has read. */
interface Last {
  readonly id: string;
  readonly place: string;
  readonly created_at: string;
}

type Nullable<Row> = { readonly [Column in keyof Row]: Row[Column] | null };

/** Nothing but nulls behind the start: it exists, and nothing follows it. */
type FoundRow = Nullable<PlacedRow> & {
  readonly start_place: string;
  readonly last_id: string | null;
  readonly last_place: string | null;
  readonly last_at: string | null;
  readonly has_more: boolean | null;
};

const PLACED = listed([...SHOWN, 'place']);
const OF_FOUND = listed([...SHOWN, 'place'], 'found.');

/**
 * SQL: the place behind which to read. No row: there is no such event. Behind an event that has no
 * place yet, what has none is read: that event, and what was committed after it.
 */
const START = {
  event: `select coalesce(
       place,
       (select max(place) from event where team_id = $1 and place is not null),
       0
     ) as place
     from event
     where team_id = $1 and id = $3`,
  place: 'select coalesce($3::bigint, 0) as place',
} as const;

/** SQL: a range of the index of places. */
const rangeText = (condition: string, limit: number): string => `select ${PLACED}
           from event
           where team_id = $1 and place > start.place${condition}
           order by place
           limit ${limit}`;

const allText = (start: string): string => `
   with start as materialized (
     ${start}
   )
   select ${OF_FOUND}, start.place as start_place, null as last_id,
     null::bigint as last_place, null::timestamptz as last_at, null::boolean as has_more
   from start
   left join lateral (
     select *
     from (
           ${rangeText('', PAGE_LIMIT_MAX + 1)}
     ) range
     order by place
     limit $2
   ) found on true
   order by found.place`;

// What lies behind the end of a page is not read. The end of the range is read only if the page is
// not full.
const searchText = (start: string): string => `
   with start as materialized (
     ${start}
   ), found as materialized (
     select near.*
     from start
     cross join lateral (
       select *
       from (
           ${rangeText('', READ_MAX)}
       ) range
       where type = $4
       order by place
       limit ${PAGE_LIMIT_MAX + 1}
     ) near
   ), last as materialized (
     select range.*
     from start
     cross join lateral (
       select id as last_id, place as last_place, created_at as last_at,
         count(*) over () = ${READ_MAX} as has_more
       from (
           ${rangeText('\n             and (select count(*) from found) < $2', READ_MAX)}
       ) range
       order by place desc
       limit 1
     ) range
   )
   select ${OF_FOUND}, start.place as start_place, last.last_id, last.last_place, last.last_at,
     last.has_more
   from start
   left join last on true
   left join lateral (
     select *
     from found
     order by place
     limit $2
   ) found on true
   order by found.place`;

const listsFrom = (start: keyof typeof START) =>
  statementsByFilters(['type'], (named) =>
    statement<FoundRow>(
      ['events.inOrder', start, ...named].join('.'),
      (named.length > 0 ? searchText : allText)(START[start]),
      { inOrder: named.length > 0 },
    ),
  );
const IN_ORDER = { event: listsFrom('event'), place: listsFrom('place') };

/** Where to begin: behind a place if there is one, else behind an event; null: with the first. */
export interface Start {
  readonly limit: number;
  readonly id: string | null;
  readonly place: string | null;
}

/** A part of the list in the order of the places. */
export interface EventsInOrder {
  readonly rows: PlacedRow[];
  /** The place behind which it was read. */
  readonly startPlace: string;
  /** The last event that was read, whether it is wanted or not; null if there was none. */
  readonly last: Last | null;
  /** Whether the search has ended before the list. */
  readonly hasMore: boolean;
}

/**
 * Lists events in the order of their places. One type can have fewer than the limit although more
 * follow. Returns null if there is no such event to begin behind.
 */
export async function listInOrder(
  db: Db,
  teamId: string,
  { limit, id, place }: Start,
  { type }: Pick<EventFilters, 'type'>,
): Promise<EventsInOrder | null> {
  const by = place === null && id !== null ? 'event' : 'place';
  const { list, values } = IN_ORDER[by]({ type });
  const found = await db.query(list, [teamId, limit, place ?? id, ...values]);
  const [first] = found;
  if (!first) return null;
  const rows = found.filter((row): row is FoundRow & PlacedRow => row.id !== null);
  const { start_place: startPlace, last_id, last_place, last_at, has_more } = first;
  const end = rows.at(-1);
  const last =
    last_id !== null && last_place !== null && last_at !== null
      ? { id: last_id, place: last_place, created_at: last_at }
      : end;
  return { rows, startPlace, last: last ?? null, hasMore: has_more === true };
}
