import { PAGE_LIMIT_MAX, type MeasuredRow, type PageSlice } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { bytesOf, thatFit } from '../../db/page-size.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';

const DEAL = columnsOf('CrmDeal', 'team_id', 'connection_id');
export type DealRow = RowOf<'CrmDeal', (typeof DEAL)[number]>;

/**
 * SQL: merges the pages of the team's active connections. Each is one range of an index; rows of
 * other connections are never read. The constant limit tells the planner that only a page will be
 * read. For a parameter it assumes a tenth of the connection's rows.
 */
function listText(
  table: 'crm_deal' | 'crm_objection',
  { columns, texts }: { readonly columns: string; readonly texts: readonly string[] },
): string {
  return thatFit({
    columns,
    rows: `select page.*, ${bytesOf(...texts)} as bytes
       from crm_connection c
       cross join lateral (
         select *
         from (
           select ${columns}
           from ${table}
           where team_id = $1
             and connection_id = c.id
             and ${isAfter(BY_CREATION, ['$3', '$4'])}
           ${newestFirst(BY_CREATION, PAGE_LIMIT_MAX + 1)}
         ) of_connection
         ${newestFirst(BY_CREATION, '$2')}
       ) page
       where c.team_id = $1
         and c.status = 'active'
       ${newestFirst(['page.created_at', 'page.id'], '$2')}`,
    order: BY_CREATION,
  });
}

const LIST_DEALS = statement<DealRow & MeasuredRow>(
  'crm.listDeals',
  listText('crm_deal', {
    columns: listed(DEAL),
    texts: [
      'title',
      'lost_reason',
      'external_id',
      'pipeline_id',
      'stage_id',
      'amount',
      'currency',
      'close_date',
    ],
  }),
);

/** Deals of active connections after `after`, newest first. `limit`: a page and one at most. */
export function listDeals(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<(DealRow & MeasuredRow)[]> {
  return db.query(LIST_DEALS, [teamId, limit, ...positionValues(after)]);
}

const OBJECTION = columnsOf('CrmObjection', 'team_id', 'connection_id', 'source', 'synced_at');
export type ObjectionRow = RowOf<'CrmObjection', (typeof OBJECTION)[number]>;

const LIST_OBJECTIONS = statement<ObjectionRow & MeasuredRow>(
  'crm.listObjections',
  listText('crm_objection', {
    columns: listed(OBJECTION),
    texts: ['text'],
  }),
);

/** Objections in deals of active connections; otherwise as `listDeals`. */
export function listObjections(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<(ObjectionRow & MeasuredRow)[]> {
  return db.query(LIST_OBJECTIONS, [teamId, limit, ...positionValues(after)]);
}
