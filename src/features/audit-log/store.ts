import {
  PAGE_LIMIT_MAX,
  type MeasuredRow,
  type PageSlice,
  type SearchResult,
} from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, newestFirst } from '../../db/keyset.ts';
import { thatFit } from '../../db/page-size.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';
import { FIRST_FILTER, IN_TIME, search, type FoundRow, type TimeRange } from '../../db/search.ts';

const ENTRY = columnsOf('AuditLog', 'team_id');
const COLUMNS = listed(ENTRY);

export interface AuditRow extends RowOf<'AuditLog', (typeof ENTRY)[number]> {
  readonly details: Record<string, unknown>;
}

/** Filters that compare a column with a value. */
const EQUALITIES = ['actor_kind', 'actor_id', 'action', 'target_id'] as const;
type Filter = (typeof EQUALITIES)[number];

/** All given filters must match. */
export type AuditFilters = TimeRange & { readonly [name in Filter]?: string | undefined };

/** How many entries a search reads of the range of each filter before it returns a page. */
const READ_MAX = 10_000;

/** An entry about thousands of catalog entries names them all. Measured as it is stored. */
const BYTES = 'coalesce(pg_column_size(details), 0) as bytes';

type Equality = `${Filter} = $${number}`;

// An index serves it as one range for each filter.
const entriesWith = (equality: Equality | 'true'): string => `from audit_log
         where team_id = $1
           and ${IN_TIME}
           and ${equality}`;

/**
 * SQL: the list with one filter or none. The constant limit tells the planner that only a page will
 * be read; see features/trainings/store.ts.
 */
function listText(equality: Equality | 'true'): string {
  return thatFit({
    columns: `${COLUMNS}, null::timestamptz as reached_at, null::text as reached_id`,
    rows: `select *
     from (
       select ${COLUMNS}, ${BYTES}
       ${entriesWith(equality)}
       ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
    order: BY_CREATION,
  });
}

/**
 * SQL: the list with several filters. Reads the range of one of them, and leaves out what the
 * others do not let through: the range whose first `READ_MAX` entries lead furthest, or to its end.
 * So a search with one rare filter finds all at once, and one with only frequent filters reads no
 * more than others.
 */
function searchText(equalities: readonly Equality[]): string {
  const reached = (equality: Equality, place: number): string => `select ${place} as range, last.*
         from (values (1)) one
         left join lateral (
           select created_at as reached_at, id as reached_id
           ${entriesWith(equality)}
           ${newestFirst(BY_CREATION)}
           offset ${READ_MAX - 1}
           limit 1
         ) last on true`;
  const found = (equality: Equality, place: number): string => `(
         select *
         from (
           select ${COLUMNS}
           ${entriesWith(equality)}
             and (select range from best) = ${place}
           ${newestFirst(BY_CREATION, READ_MAX)}
         ) entry
         where ${equalities.filter((other) => other !== equality).join(' and ')}
         ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
         )`;
  const page = thatFit({
    columns: COLUMNS,
    rows: `select *, ${BYTES}
     from (
         ${equalities.map(found).join('\n         union all\n         ')}
     ) entries
     ${newestFirst(BY_CREATION, '$2')}`,
    order: BY_CREATION,
  });
  return `with best as materialized (
       select *
       from (
         ${equalities.map(reached).join('\n         union all\n         ')}
       ) ranges
       order by reached_at nulls first, reached_id
       limit 1
     )
     select ${COLUMNS}, fits, best.reached_at, best.reached_id
     from best
     left join (
       ${page}
     ) page on true
     ${newestFirst(['page.created_at', 'page.id'])}`;
}

const listOf = statementsByFilters(EQUALITIES, (named) => {
  const equalities = named.map((name, place): Equality => `${name} = $${place + FIRST_FILTER}`);
  const [only = 'true', second] = equalities;
  return statement<FoundRow<AuditRow & MeasuredRow>>(
    ['auditLog.list', ...named].join('.'),
    second === undefined ? listText(only) : searchText(equalities),
    { inOrder: true },
  );
});

/**
 * Lists entries, newest first, after `after`. `limit`: at most one more than a page holds. With
 * several filters it can return fewer although more follow: then it says how far it has read.
 */
export function listEntries(
  db: Db,
  teamId: string,
  slice: PageSlice,
  filters: AuditFilters,
): Promise<SearchResult<AuditRow & MeasuredRow>> {
  const { since, until } = filters;
  return search(db, teamId, slice, { ...listOf(filters), since, until });
}

/** An entry as the operator who caused it sees it. */
export type RecordedRow = Pick<AuditRow, 'action' | 'target_id' | 'details'>;

/** Lists what a request has recorded in a team at this moment, in its order. */
export async function listOfRequest(
  db: Db,
  teamId: string,
  { requestId, at }: { readonly requestId: string; readonly at: Date },
): Promise<RecordedRow[]> {
  const found = await db.prisma.auditLog.findMany({
    where: { teamId, createdAt: at, requestId },
    orderBy: { id: 'asc' },
    select: { action: true, targetId: true, details: true },
  });
  return found.map(({ action, targetId, details }) => ({
    action,
    target_id: targetId,
    details: details as Record<string, unknown>,
  }));
}
