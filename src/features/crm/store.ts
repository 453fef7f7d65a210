import { PAGE_LIMIT_MAX, type MeasuredRow, type PageSlice } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { bytesOf, thatFit } from '../../db/page-size.ts';

export interface DealRow {
  readonly id: string;
  readonly external_id: string;
  readonly outcome: string;
  readonly title: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly close_date: string | null;
  readonly probability: number | null;
  readonly pipeline_id: string | null;
  readonly stage_id: string | null;
  readonly industry_id: string | null;
  readonly lost_reason: string | null;
  readonly owner_user_id: string | null;
  readonly last_activity_at: string | null;
  readonly synced_at: string | null;
  readonly created_at: string;
}

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
    columns: `id, external_id, outcome, title, amount, currency, close_date, probability,
             pipeline_id, stage_id, industry_id, lost_reason, owner_user_id, last_activity_at,
             synced_at, created_at`,
    texts: ['title', 'lost_reason', 'external_id', 'pipeline_id', 'stage_id'],
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

export interface ObjectionRow {
  readonly id: string;
  readonly deal_id: string;
  readonly category: string;
  readonly text: string;
  readonly lang: string;
  readonly created_at: string;
}

const LIST_OBJECTIONS = statement<ObjectionRow & MeasuredRow>(
  'crm.listObjections',
  listText('crm_objection', {
    columns: 'id, deal_id, category, text, lang, created_at',
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
