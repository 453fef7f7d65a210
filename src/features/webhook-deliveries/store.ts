import type { DeliveryStatus } from '../../core/delivery-status.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { listed, type RowOf } from '../../db/rows.ts';

/** The columns of a `DeliveryRow`. */
export const SHOWN = [
  'id',
  'endpoint_id',
  'attempt',
  'status',
  'event_type',
  'created_at',
  'next_try_at',
  'response_code',
  'response_excerpt',
  'response_ms',
  'error',
] as const;
const COLUMNS = listed(SHOWN, 'd.');

/** A delivery as the API shows it. */
export interface DeliveryRow extends RowOf<'WebhookDelivery', (typeof SHOWN)[number]> {
  readonly status: DeliveryStatus;
}

// A single row without a delivery means that the endpoint exists and has no deliveries. No row at
// all means that there is no such endpoint.
const LIST_DELIVERIES = statement<DeliveryRow | { readonly id: null }>(
  'webhooks.listDeliveries',
  `select ${COLUMNS}
   from webhook_endpoint w
   left join lateral (
     select *
     from webhook_delivery
     where team_id = $1 and endpoint_id = w.id
     order by created_at desc, id desc
     limit $3
   ) d on true
   where w.team_id = $1 and w.id = $2
   order by d.created_at desc, d.id desc`,
);

/** The endpoint's last deliveries, newest first; null if there is no such endpoint. */
export async function listDeliveries(
  db: Db,
  teamId: string,
  endpointId: string,
  limit: number,
): Promise<DeliveryRow[] | null> {
  const rows = await db.query(LIST_DELIVERIES, [teamId, endpointId, limit]);
  return rows.length === 0 ? null : rows.filter((row): row is DeliveryRow => row.id !== null);
}

/** Whether the team has the endpoint. */
export async function hasEndpoint(db: Db, teamId: string, endpointId: string): Promise<boolean> {
  const where = { teamId, id: endpointId };
  return (await db.prisma.webhookEndpoint.count({ where })) > 0;
}

/** Finds the delivery and locks it until the transaction ends. Returns null if there is none. */
export const findDeliveryForUpdate = statement<DeliveryRow>(
  'webhooks.findDeliveryForUpdate',
  `select ${COLUMNS}
   from webhook_delivery d
   join webhook_endpoint w on w.team_id = d.team_id and w.id = d.endpoint_id
   where d.team_id = $1 and d.id = $2
   for no key update of d`,
).finds<[tx: Tx, teamId: string, deliveryId: string]>();

/** Requests one more attempt, now. The delivery loop makes urgent attempts first. */
export const makeUrgent = statement(
  'webhooks.makeUrgent',
  'update webhook_delivery set urgent = true where team_id = $1 and id = $2',
  { wakes: 'deliveries' },
).sends<[tx: Tx, teamId: string, deliveryId: string]>();
