import type { z } from 'zod';
import type { webhookDelivery } from './schema.ts';
import type { DeliveryRow } from './store.ts';

/** A delivery as the API shows it. The order of the fields is the specification's. */
export function toDelivery(row: DeliveryRow): z.input<typeof webhookDelivery> {
  return {
    id: row.id,
    attempt: row.attempt,
    status: row.status,
    event_type: row.event_type,
    created_at: row.created_at,
    next_try_at: row.next_try_at,
    response_code: row.response_code,
    response_excerpt: row.response_excerpt,
    response_ms: row.response_ms,
    error: row.error,
  };
}
