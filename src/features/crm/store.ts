import { PAGE_LIMIT_MAX, type PageSlice } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';

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

// Evaluated once per statement: a team has few connections. Without an active one no row is read.
const ACTIVE = `select c.id from crm_connection c where c.team_id = $1 and c.status = 'active'`;

const DEALS = ['d.created_at', 'd.id'] as const;
const OBJECTIONS = ['o.created_at', 'o.id'] as const;

// The constant limit tells the planner that only a page will be read. For a parameter it assumes a
// tenth of the team's rows.
const LIST_DEALS = statement<DealRow>(
  'crm.listDeals',
  `select *
   from (
     select d.id, d.external_id, d.outcome, d.title, d.amount, d.currency, d.close_date,
       d.probability, d.pipeline_id, d.stage_id, d.industry_id, d.lost_reason, d.owner_user_id,
       d.last_activity_at, d.synced_at, d.created_at
     from crm_deal d
     where d.team_id = $1
       and ${isAfter(DEALS, ['$3', '$4'])}
       and d.connection_id = any (array(${ACTIVE}))
       and exists (${ACTIVE})
     ${newestFirst(DEALS, PAGE_LIMIT_MAX + 1)}
   ) page
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Deals of active connections after `after`, newest first. `limit`: a page and one at most. */
export function listDeals(db: Db, teamId: string, { limit, after }: PageSlice): Promise<DealRow[]> {
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

// A scalar subquery looks up the deal of each row that is read. A join would be planned over the
// team's whole tables.
const LIST_OBJECTIONS = statement<ObjectionRow>(
  'crm.listObjections',
  `select *
   from (
     select o.id, o.deal_id, o.category, o.text, o.lang, o.created_at
     from crm_objection o
     where o.team_id = $1
       and ${isAfter(OBJECTIONS, ['$3', '$4'])}
       and (
         select d.connection_id = any (array(${ACTIVE}))
         from crm_deal d
         where d.team_id = $1
           and d.id = o.deal_id
       )
       and exists (${ACTIVE})
     ${newestFirst(OBJECTIONS, PAGE_LIMIT_MAX + 1)}
   ) page
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Objections in deals of active connections; otherwise as `listDeals`. */
export function listObjections(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<ObjectionRow[]> {
  return db.query(LIST_OBJECTIONS, [teamId, limit, ...positionValues(after)]);
}
