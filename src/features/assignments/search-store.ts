/** Lists of assignments with filters. */
import {
  PAGE_LIMIT_MAX,
  type MeasuredRow,
  type PageSlice,
  type SearchResult,
} from '../../core/page.ts';
import { ASSIGNMENT_STATUSES } from '../../core/vocabularies.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { isAfter, newestFirst, positionValues, type Keyset } from '../../db/keyset.ts';
import { listed } from '../../db/rows.ts';
import { resultOf, type FoundRow } from '../../db/search.ts';
import {
  COLUMNS,
  isLong,
  measured,
  PAGE_WITH_MEMBERS,
  unmeasured,
  type AssignmentRow,
  type Reading,
  type UnmeasuredRow,
} from './page-store.ts';
import { EXTERNAL_ID_MAX_CHARACTERS } from './rules.ts';

/** An assignment with the time of its place in the list. */
export interface FoundAssignment extends AssignmentRow {
  readonly at: string;
}

/** How many assignments of a range a search reads before it returns a page. */
const READ_MAX = 10_000;

const CHANGED_AT = 'coalesce(updated_at, created_at)';
const EXTERNAL_ID = "external_ref ->> 'id'";

const CONDITIONS = {
  status: (value: string) => `status = ${value}`,
  member_id: (value: string) => `member_id = ${value}`,
  /** A calendar date, exclusive. */
  due_before: (value: string) => `due_date < ${value}::date`,
  // The second condition is that of the index.
  external_ref_id: (value: string) => `${EXTERNAL_ID} = ${value}
             and length(${EXTERNAL_ID}) <= ${EXTERNAL_ID_MAX_CHARACTERS}`,
  /** ISO, inclusive. The list is then in the order of the last change. */
  updated_since: (value: string) => `${CHANGED_AT} >= ${value}::timestamptz`,
};

type Filter = keyof typeof CONDITIONS;
const FILTERS = Object.keys(CONDITIONS) as Filter[];

/** All given filters must match. */
export type AssignmentFilters = { readonly [name in Filter]?: string | undefined };

/** What an index serves as one range, in the order of the list. Of several, the first is taken. */
const RANGES: readonly (readonly Filter[])[] = [
  ['updated_since'],
  ['external_ref_id'],
  ['member_id', 'status'],
  ['member_id'],
  [],
];

/**
 * SQL: reads a range by its index, and leaves out what the other filters do not let through. If
 * that leaves less than a page of `READ_MAX` rows, it says how far it has read.
 */
function searchText(named: readonly Filter[], reading: Reading): string {
  const valueOf = (name: Filter): string => `$${named.indexOf(name) + 5}`;
  const conditionOf = (name: Filter): string => CONDITIONS[name](valueOf(name));
  const range = RANGES.find((one) => one.every((name) => named.includes(name))) ?? [];
  const rest = named.filter((name) => !range.includes(name)).map(conditionOf);
  const most = rest.length > 0 ? READ_MAX : PAGE_LIMIT_MAX + 1;
  const at = named.includes('updated_since') ? CHANGED_AT : 'created_at';
  const conditions = range.map(conditionOf);
  const rangeOf = (columns: string, ...more: string[]): string =>
    rangeText({ columns, at, conditions: [...conditions, ...more], most });
  const rows = (columns: string): string =>
    // The index has the statuses of a member one after the other. Each is in the text, so that the
    // planner knows which of them hardly any assignment has, and reads that one by this index.
    range.join() === 'member_id'
      ? `select one.*
       from (
         (${ASSIGNMENT_STATUSES.map((status) => rangeOf(columns, `status = '${status}'`)).join(`)
         union all
         (`)})
       ) one
       ${newestFirst(['one.at', 'one.id'], most)}`
      : rangeOf(columns);
  const { page, columns, whole } = reading({
    rows: `select *
     from (
       ${rows(listed(COLUMNS))}
     ) near
     ${rest.length > 0 ? `where ${rest.join(' and ')}` : ''}
     ${newestFirst(PLACE, '$2')}`,
    order: PLACE,
  });
  return `with ${page}, last as materialized (
     select at, id
     from (
       ${rows('id')}
     ) near
     where (select count(*) from ${whole}) < $2
     ${newestFirst(PLACE)}
     offset ${READ_MAX - 1}
     limit 1
   )
   select ${columns}, a.at, last.at as reached_at, last.id as reached_id
   from (values (1)) one
   left join last on true
   left join (${PAGE_WITH_MEMBERS}) on true
   ${newestFirst(['a.at', 'a.id'])}`;
}

const PLACE: Keyset = ['at', 'id'];

/** SQL: the first rows of a range after the position, with the time of their place as `at`. */
function rangeText(range: {
  readonly columns: string;
  readonly at: string;
  readonly conditions: readonly string[];
  readonly most: number;
}): string {
  const { columns, at, conditions, most } = range;
  return `select ${at} as at, ${columns}
         from assignment
         where ${['team_id = $1', isAfter([at, 'id'], ['$3', '$4']), ...conditions].join(`
           and `)}
         ${newestFirst([at, 'id'], most)}`;
}

const listOf = statementsByFilters(FILTERS, (named) =>
  statement<FoundRow<FoundAssignment & UnmeasuredRow>>(
    ['assignments.search', ...named].join('.'),
    searchText(named, unmeasured),
    { inOrder: true },
  ),
);

const measuredListOf = statementsByFilters(FILTERS, (named) =>
  statement<FoundRow<FoundAssignment & MeasuredRow>>(
    ['assignments.searchMeasured', ...named].join('.'),
    searchText(named, measured),
    { inOrder: true },
  ),
);

/**
 * Assignments of any status, newest first, after `after`; as `MeasuredRow` if they are large. It
 * can find fewer than the limit although more follow: then it says how far it has read.
 */
export async function searchAssignments(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
  filters: AssignmentFilters,
): Promise<SearchResult<FoundAssignment>> {
  const { list, values } = listOf(filters);
  const all = [teamId, limit, ...positionValues(after), ...values];
  const rows = await db.query(list, all);
  if (!isLong(rows)) return resultOf<FoundAssignment>(rows);
  return resultOf<FoundAssignment>(await db.query(measuredListOf(filters).list, all));
}
