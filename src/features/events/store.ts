import { PAGE_LIMIT_MAX, type PageSlice } from '../../core/page.ts';
import { statement, statementsByFilters, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { listed, type RowOf } from '../../db/rows.ts';

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

// The index holds the type, so events of other types are passed without being read. The constant
// limit tells the planner that only a page will be read.
const listOf = statementsByFilters(['type'], (named) =>
  statement<EventRow>(
    ['events.list', ...named].join('.'),
    `select ${COLUMNS}
     from (
       select ${COLUMNS}
       from event
       where team_id = $1
         and ${isAfter(BY_CREATION, ['$3', '$4'])}
         and created_at >= coalesce($5::timestamptz, '-infinity')
         ${named.length > 0 ? 'and type = $6' : ''}
       ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
     ) page
     ${newestFirst(BY_CREATION, '$2')}`,
    { isSearch: named.length > 0 },
  ),
);

/** Lists the team's events, newest first, after `after`. */
export function listEvents(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
  { since, ...filters }: EventFilters,
): Promise<EventRow[]> {
  const { list, values } = listOf(filters);
  return db.query(list, [teamId, limit, ...positionValues(after), since ?? null, ...values]);
}
