import { statement, type Db } from '../../../db/client.ts';
import type { ConnectionKey } from './jobs.ts';

/**
 * SQL: begins a statement that removes the deals that `stale` selects, with their objections: a
 * batch of objections first, and the deals once none is left. A cascade could take any time. What
 * was removed is in `deal` and `objection`.
 */
export function removalText(stale: string, batch: number): string {
  return `with stale as materialized (
     ${stale}
     limit ${batch}
   ), objection as (
     delete from crm_objection
     where team_id = $1
       and id = any (array(
         select o.id
         from stale s
         cross join lateral (
           select id
           from crm_objection
           where team_id = $1 and deal_id = s.id
           limit ${batch}
         ) o
         limit ${batch}
       ))
     returning id
   ), deal as (
     delete from crm_deal
     where team_id = $1
       and id = any (array(select id from stale))
       and (select count(*) from objection) < ${batch}
     returning id
   )`;
}

const BATCH = 500;

interface Removed {
  readonly objections: number;
  readonly last: string;
}

// Begins behind the last batch: the index still has the entries of all deals that were removed.
const REMOVE_DEALS = statement<Removed>(
  'crm.removeDeals',
  `${removalText(
    `select d.id, d.external_id
     from crm_deal d
     join crm_connection c on c.team_id = d.team_id and c.id = d.connection_id
     where d.team_id = $1
       and d.connection_id = $2
       and d.external_id > $3
       and c.status = 'disconnected'
     order by d.external_id`,
    BATCH,
  )}
   select external_id as last, (select count(*)::int from objection) as objections
   from stale
   order by external_id desc
   limit 1`,
  { isSearch: true },
);

/**
 * Removes a batch of a disconnected connection's objections and deals, from behind `after` ('' at
 * first). Returns where to go on; null if nothing is left behind `after`.
 */
export async function removeDeals(
  db: Db,
  { teamId, connectionId }: ConnectionKey,
  after: string,
): Promise<string | null> {
  const [removed] = await db.query(REMOVE_DEALS, [teamId, connectionId, after]);
  if (!removed) return null;
  return removed.objections === BATCH ? after : removed.last;
}

/** Removes the connection if it is disconnected and has no deals. */
export async function removeConnection(
  db: Db,
  { teamId, connectionId }: ConnectionKey,
): Promise<void> {
  await db.prisma.crmConnection.deleteMany({
    where: { teamId, id: connectionId, status: 'disconnected', deals: { none: {} } },
  });
}
