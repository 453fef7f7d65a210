import { requireEventType } from '../../core/events.ts';
import type { Page, PageQuery } from '../../core/page.ts';
import { notFound } from '../../core/problem.ts';
import type { Db } from '../../db/client.ts';
import { readChangeContext } from '../../db/change-context.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { listDeliveries as listAnyDeliveries } from './admin-service.ts';
import type { AdminDeliveryRow } from './admin-store.ts';
import { requireListStatus, requireRetryable } from './rules.ts';
import * as store from './store.ts';
import type { DeliveryRow } from './store.ts';

export { removalJob } from './jobs.ts';

const LIST = 'endpoint_deliveries';

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

/** Which deliveries of an endpoint to list. */
export interface EndpointDeliveries extends PageQuery {
  readonly endpoint_id: string;
  readonly status?: string | undefined;
  readonly event_type?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/**
 * Lists an endpoint's deliveries by pages, newest first, as the app does. Throws `not_found`,
 * `validation_error` (field `status`, `event_type` or `cursor`).
 */
export async function listPage(
  db: Db,
  teamId: string,
  query: EndpointDeliveries,
): Promise<Page<AdminDeliveryRow>> {
  const { status, event_type } = query;
  if (event_type !== undefined) requireEventType(event_type, 'event_type');
  const known = status === undefined ? undefined : requireListStatus(status);
  const page = await listAnyDeliveries(db, teamId, { ...query, status: known }, LIST);
  // Only an endpoint of the team has deliveries.
  if (page.rows.length === 0 && !(await store.hasEndpoint(db, teamId, query.endpoint_id)))
    throw notFound();
  return page;
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
    const [delivery, current] = await Promise.all([
      store.findDeliveryForUpdate(tx, teamId, deliveryId),
      readChangeContext(tx, context),
    ]);
    if (!delivery) throw notFound();
    requireRetryable(delivery.status);
    store.makeUrgent(tx, teamId, deliveryId);
    record(tx, current, {
      audit: { action: 'webhook_delivery.retried', targetId: deliveryId },
    });
    return delivery;
  });
}
