import { notFound } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { requireRetryable } from './rules.ts';
import * as store from './store.ts';
import type { DeliveryRow } from './store.ts';

export { removalJob } from './jobs.ts';

/** Lists an endpoint's last deliveries, newest first. Throws `not_found`. */
export async function listDeliveries(
  db: Db,
  teamId: string,
  endpointId: string,
  limit: number,
): Promise<DeliveryRow[]> {
  const rows = await store.listDeliveries(db, teamId, endpointId, limit);
  if (!rows) throw notFound();
  return rows;
}

/**
 * Requests one more attempt, now, and returns the delivery as it is before that attempt. Opens a
 * transaction. Throws `not_found`, `validation_error` (field `delivery_id`).
 */
export async function retryDelivery(
  db: Db,
  context: ChangeContext,
  deliveryId: string,
): Promise<DeliveryRow> {
  const { teamId } = context;
  return db.transaction(async (tx) => {
    const delivery = await store.findDeliveryForUpdate(tx, teamId, deliveryId);
    if (!delivery) throw notFound();
    requireRetryable(delivery.status);
    store.makeUrgent(tx, teamId, deliveryId);
    record(tx, context, {
      audit: { action: 'webhook_delivery.retried', targetId: deliveryId },
      makesDeliveryDue: true,
    });
    return delivery;
  });
}
