/**
 * Removes what no page of a round contained. The rows of a connection are walked by key, so many a
 * step that it ends soon, however many the connection has. Call `holdRun` first.
 */
import type { PagePosition } from '../../../core/page.ts';
import { statement, type Tx } from '../../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../../db/keyset.ts';
import type { ConnectionKey } from './jobs.ts';
import { removeDeals } from './page-store.ts';

/** How many rows a step reads at most. */
const READ_MAX = 2_000;

const FIND_DEALS = statement<{ read: number; last: string | null; stale: string[] }>(
  'crm.findDealsToSweep',
  `select count(*)::int as read, max(external_id) as last,
     coalesce(
       array_agg(external_id) filter (where synced_at is null or synced_at < $3),
       '{}'
     ) as stale
   from (
     select external_id, synced_at
     from crm_deal
     where team_id = $1
       and connection_id = $2
       and external_id > $4
     order by external_id
     limit ${READ_MAX}
   ) page`,
);

/**
 * Removes deals that no page contained since that time, from behind `after` ('' at first). Returns
 * where to go on; null if nothing is left behind `after`.
 */
export async function sweepDeals(
  tx: Tx,
  connection: ConnectionKey,
  { since, after }: { readonly since: string; readonly after: string },
): Promise<string | null> {
  const { teamId, connectionId } = connection;
  const page = await tx.queryFirst(FIND_DEALS, [teamId, connectionId, since, after]);
  if (!page || page.last === null) return null;
  if (page.stale.length > 0 && !(await removeDeals(tx, connection, page.stale))) return after;
  return page.read < READ_MAX ? null : page.last;
}

const SWEEP_NOTES = statement<{ at: string; id: string; read: number }>(
  'crm.sweepNotes',
  `with page as materialized (
     select id, created_at, source, synced_at
     from crm_objection
     where team_id = $1
       and connection_id = $2
       and ${isAfter(BY_CREATION, ['$4', '$5'])}
     ${newestFirst(BY_CREATION, READ_MAX)}
   ), removed as (
     delete from crm_objection
     where team_id = $1
       and id = any (array(
         select id
         from page
         where source like 'note:%'
           and synced_at < $3
       ))
   )
   select created_at as at, id, (select count(*)::int from page) as read
   from page
   order by created_at, id
   limit 1`,
  { isSearch: true },
);

/** Removes the objections from notes in the same way, from behind `after` (null at first). */
export async function sweepNotes(
  tx: Tx,
  { teamId, connectionId }: ConnectionKey,
  { since, after }: { readonly since: string; readonly after: PagePosition | null },
): Promise<PagePosition | null> {
  const values = [teamId, connectionId, since, ...positionValues(after)];
  const last = await tx.queryFirst(SWEEP_NOTES, values);
  return last && last.read === READ_MAX ? { at: last.at, id: last.id } : null;
}
