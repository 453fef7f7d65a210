import type { PagePosition } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { releaseKeptEvents } from '../../db/kept-events.ts';
import { partsOf } from '../../db/parts.ts';
import type { DeletedEndpoint } from './jobs.ts';

const BATCH = 500;

/** SQL: the endpoint $2 of the team $1 is gone. */
const IS_GONE = `not exists (
       select
       from webhook_endpoint
       where team_id = $1 and id = $2
     )`;

/** With one plan for all teams each batch might read all rows of the team to find those picked. */
const PLANNED = { isSearch: true } as const;

// Begins behind the last batch: the index still has the entries of all rows that were deleted, and
// to skip them each time would be quadratic. Skips locked rows, so it waits for nobody.
const REMOVE_DELIVERIES = statement<{ at: string; id: string; event_id: string }>(
  'webhooks.removal.deliveries',
  `with picked as materialized (
     select ctid, created_at, id, event_id
     from webhook_delivery
     where team_id = $1 and endpoint_id = $2
       and (created_at, id) < (coalesce($3::timestamptz, 'infinity'), $4)
       and ${IS_GONE}
     order by created_at desc, id desc
     limit ${BATCH}
     for update skip locked
   ), removed as (
     delete from webhook_delivery
     where team_id = $1 and ctid = any (array(select ctid from picked))
   )
   select created_at as at, id, event_id
   from picked
   order by created_at, id`,
  PLANNED,
);

/**
 * Removes a batch of the deliveries of a deleted endpoint, newest first, from behind `after`.
 * Returns the position of the last one; null if there is none left behind `after`.
 */
export async function removeDeliveries(
  db: Db,
  { teamId, endpointId }: DeletedEndpoint,
  after: PagePosition | null,
): Promise<PagePosition | null> {
  const values = [teamId, endpointId, after?.at ?? null, after?.id ?? ''];
  const [own = db] = await partsOf(db, () => Promise.resolve([teamId]));
  return own.transaction(async (tx) => {
    const removed = await tx.query(REMOVE_DELIVERIES, values);
    await releaseKeptEvents(
      tx,
      removed.map(({ event_id }) => ({ team_id: teamId, event_id })),
    );
    const [oldest] = removed;
    return oldest ? { at: oldest.at, id: oldest.id } : null;
  });
}

const REMOVE_RESENDS = statement<{ id: string }>(
  'webhooks.removal.resends',
  `delete from webhook_resend
   where team_id = $1
     and id = any (array(
       select id
       from webhook_resend
       where team_id = $1 and endpoint_id = $2
         and ${IS_GONE}
       limit ${BATCH}
       for update skip locked
     ))
   returning id`,
  PLANNED,
);

/** Removes a batch of the resends of a deleted endpoint. Returns how many. */
export async function removeResends(
  db: Db,
  { teamId, endpointId }: DeletedEndpoint,
): Promise<number> {
  return (await db.query(REMOVE_RESENDS, [teamId, endpointId])).length;
}

const HAS_ROWS = statement<{ has_rows: boolean }>(
  'webhooks.removal.hasRows',
  `select (
       exists (
         select
         from webhook_delivery
         where team_id = $1 and endpoint_id = $2
       ) or exists (
         select
         from webhook_resend
         where team_id = $1 and endpoint_id = $2
       )
     ) and ${IS_GONE} as has_rows`,
);

/** Whether a deleted endpoint has left anything that is still there. */
export async function hasRows(db: Db, { teamId, endpointId }: DeletedEndpoint): Promise<boolean> {
  const [row] = await db.query(HAS_ROWS, [teamId, endpointId]);
  return row?.has_rows === true;
}
