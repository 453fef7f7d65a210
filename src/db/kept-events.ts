// Old events stay while deliveries of them wait, and are marked so that nobody looks at them again.
import { statement, type Tx } from './client.ts';
import type { RowOf } from './rows.ts';

/** A delivery that was deleted. */
export type RemovedDelivery = RowOf<'WebhookDelivery', 'team_id' | 'event_id'>;

// In the order of their keys. LIMIT and OFFSET make Postgres look each row up by its key, however
// many are given.
const LOCK = statement(
  'events.lockKept',
  `select
   from (
     select distinct team_id, id
     from unnest($1::text[], $2::text[]) as given (team_id, id)
     order by team_id, id
   ) d
   cross join lateral (
     select
     from event
     where team_id = d.team_id and id = d.id and kept_for_deliveries
     limit 1
     for no key update
   ) e`,
);
const RELEASE = statement(
  'events.releaseKept',
  `update event
   set kept_for_deliveries = false
   where ctid = any (array(
     select e.ctid
     from unnest($1::text[], $2::text[]) as d (team_id, id)
     cross join lateral (
       select ctid
       from event
       where team_id = d.team_id and id = d.id and kept_for_deliveries
       limit 1
     ) e
     where not exists (
       select
       from webhook_delivery
       where team_id = d.team_id and event_id = d.id
       offset 0
     )
   ))`,
);

/**
 * Clears the mark of events whose last delivery was deleted. Call it in the transaction that has
 * deleted, after it. The events are locked first, and the second statement sees what was committed
 * meanwhile. So of two transactions that delete the last two deliveries, the later one clears it.
 */
export async function releaseKeptEvents(
  tx: Tx,
  removed: readonly RemovedDelivery[],
): Promise<void> {
  if (removed.length === 0) return;
  const own = [removed.map((row) => row.team_id), removed.map((row) => row.event_id)];
  if ((await tx.query(LOCK, own)).length > 0) await tx.query(RELEASE, own);
}
