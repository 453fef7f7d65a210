/** Deals and objections as a synchronization writes them. Call `holdRun` first. */
import { newId } from '../../../core/ids.ts';
import { statement, type Tx } from '../../../db/client.ts';
import { lowered } from '../../../db/lowered.ts';
import type { DealText } from './deals.ts';
import type { ConnectionKey } from './jobs.ts';
import type { ObjectionText } from './objections.ts';
import { removalText } from './removal-store.ts';

// Of a page, each owner and each deal is looked up by itself, with a plan for this team. With a
// join or a list, or one plan for all teams, Postgres may read all members, or all deals of a
// connection: of most teams that is cheaper.

// A deal's owner is the active member with the email that the owner has in the CRM. The index of
// live addresses is unique, so there is one at most.
const UPSERT_DEALS = statement(
  'crm.upsertDeals',
  `insert into crm_deal as d (
     team_id, id, connection_id, external_id, outcome, title, amount, currency, close_date,
     probability, pipeline_id, stage_id, lost_reason, owner_user_id, last_activity_at,
     synced_at, created_at
   )
   select $1, r.id, $2, r.external_id, r.outcome, r.title, r.amount, r.currency, r.close_date,
     r.probability, r.pipeline_id, r.stage_id, r.lost_reason, m.user_id, r.last_activity_at,
     $3, $3
   from json_to_recordset($4::json) as r (
     id text, external_id text, outcome text, title text, amount text, currency text,
     close_date text, probability int, pipeline_id text, stage_id text, lost_reason text,
     owner_email text, last_activity_at timestamptz
   )
   left join (
     select o.email, found.user_id
     from (select distinct ${lowered('owner')} as email from unnest($5::text[]) owner) o
     cross join lateral (
       select user_id
       from member
       where team_id = $1
         and status = 'active'
         and ${lowered('email')} = o.email
       limit 1
     ) found
   ) m on m.email = ${lowered('r.owner_email')}
   on conflict (team_id, connection_id, external_id) do update
   set outcome = excluded.outcome, title = excluded.title, amount = excluded.amount,
     currency = excluded.currency, close_date = excluded.close_date,
     probability = excluded.probability, pipeline_id = excluded.pipeline_id,
     stage_id = excluded.stage_id, lost_reason = excluded.lost_reason,
     owner_user_id = excluded.owner_user_id, last_activity_at = excluded.last_activity_at,
     synced_at = greatest(d.synced_at, excluded.synced_at)`,
  { isSearch: true },
);

/** A deal, and the email that its owner has in the CRM. */
export interface OwnedDeal extends DealText {
  readonly owner_email: string | null;
}

/** No deal may appear twice. */
export function upsertDeals(
  tx: Tx,
  connection: ConnectionKey,
  page: { deals: readonly OwnedDeal[]; at: Date },
): void {
  const rows = page.deals.map((deal) => ({ id: newId('crmDeal'), ...deal }));
  tx.send(UPSERT_DEALS, [
    connection.teamId,
    connection.connectionId,
    page.at,
    JSON.stringify(rows),
    [...new Set(page.deals.flatMap(({ owner_email: email }) => email ?? []))],
  ]);
}

/** SQL: the deal of the connection with this id in the CRM. */
function dealText(externalId: string): string {
  return `
       select id
       from crm_deal
       where team_id = $1
         and connection_id = $2
         and external_id = ${externalId}
       limit 1`;
}

const REMOVE_BATCH = 1000;

interface Removed {
  readonly deals: number;
  readonly objections: number;
}

const REMOVE_DEALS = statement<Removed>(
  'crm.removeDeletedDeals',
  `${removalText(
    `select d.id
     from (select distinct external_id from unnest($3::text[]) external_id) given
     cross join lateral (${dealText('given.external_id')}) d`,
    REMOVE_BATCH,
  )}
   select (select count(*)::int from deal) as deals,
     (select count(*)::int from objection) as objections`,
  { isSearch: true },
);

/** Removes a batch of these deals, by `externalId`, and of their objections. True: none is left. */
export async function removeDeals(
  tx: Tx,
  { teamId, connectionId }: ConnectionKey,
  externalIds: readonly string[],
): Promise<boolean> {
  const [removed] = await tx.query(REMOVE_DEALS, [teamId, connectionId, externalIds]);
  return removed?.deals !== REMOVE_BATCH && removed?.objections !== REMOVE_BATCH;
}

export interface SourcedObjection extends ObjectionText {
  /** `lost_reason`, or `note:` and the note's id. */
  readonly source: string;
  /** The deal's `externalId`. */
  readonly dealId: string;
}

const DELETE_LOST_REASONS = statement(
  'crm.deleteLostReasons',
  `delete from crm_objection
   where team_id = $1
     and source = 'lost_reason'
     and deal_id = any (array(
       select d.id
       from unnest($3::text[]) as given (external_id)
       cross join lateral (${dealText('given.external_id')}) d
     ))`,
  { isSearch: true },
);

const DELETE_NOTES = statement(
  'crm.deleteNotes',
  `delete from crm_objection
   where team_id = $1
     and id = any (array(
       select o.id
       from unnest($3::text[]) as given (source)
       cross join lateral (
         select id, deal_id
         from crm_objection
         where team_id = $1 and source = given.source
         offset 0
       ) o
       cross join lateral (
         select external_id
         from crm_deal
         where team_id = $1 and id = o.deal_id and connection_id = $2
         limit 1
       ) d
       where not exists (
         select from json_to_recordset($4::json) as k (source text, deal_id text)
         where k.source = given.source
           and k.deal_id = d.external_id
       )
     ))`,
  { isSearch: true },
);

const UPSERT_OBJECTIONS = statement(
  'crm.upsertObjections',
  `insert into crm_objection as o (
     team_id, id, deal_id, connection_id, category, text, lang, created_at, source, synced_at
   )
   select $1, r.id, d.id, $2, r.category, r.text, r.lang, $3, r.source, $3
   from json_to_recordset($4::json) as r (
     id text, source text, deal_id text, category text, text text, lang text
   )
   cross join lateral (${dealText('r.deal_id')}) d
   on conflict (team_id, source, deal_id) do update
   set category = excluded.category, text = excluded.text, lang = excluded.lang,
     synced_at = greatest(o.synced_at, excluded.synced_at)`,
  { isSearch: true },
);

/** Replaces the lost reasons of these deals (`externalId`) by `objections`. */
export function replaceLostReasons(
  tx: Tx,
  connection: ConnectionKey,
  read: { dealIds: readonly string[]; objections: readonly SourcedObjection[]; at: Date },
): void {
  const lost = new Set(read.objections.map(({ dealId }) => dealId));
  const others = read.dealIds.filter((id) => !lost.has(id));
  tx.send(DELETE_LOST_REASONS, [connection.teamId, connection.connectionId, others]);
  upsertObjections(tx, connection, read);
}

/** Replaces the objections from these notes by `objections`. Skips deals that are not stored. */
export function replaceNotes(
  tx: Tx,
  connection: ConnectionKey,
  read: { sources: readonly string[]; objections: readonly SourcedObjection[]; at: Date },
): void {
  if (read.sources.length === 0) return;
  const kept = JSON.stringify(
    read.objections.map(({ source, dealId }) => ({ source, deal_id: dealId })),
  );
  tx.send(DELETE_NOTES, [connection.teamId, connection.connectionId, read.sources, kept]);
  upsertObjections(tx, connection, read);
}

function upsertObjections(
  tx: Tx,
  { teamId, connectionId }: ConnectionKey,
  { objections, at }: { objections: readonly SourcedObjection[]; at: Date },
): void {
  if (objections.length === 0) return;
  const rows = objections.map(({ source, dealId, category, text, lang }) => ({
    id: newId('crmObjection'),
    source,
    deal_id: dealId,
    category,
    text,
    lang,
  }));
  tx.send(UPSERT_OBJECTIONS, [teamId, connectionId, at, JSON.stringify(rows)]);
}
