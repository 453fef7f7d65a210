import type { z } from 'zod';
import type { ResendRow } from './resend-store.ts';
import type { webhookDelivery, webhookResend } from './schema.ts';
import type { AdminDeliveryRow } from './admin-store.ts';
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

/** A delivery in a list by pages. */
export function toListedDelivery(row: AdminDeliveryRow): z.input<typeof webhookDelivery> {
  return { ...toDelivery(row), event_id: row.event_id };
}

/** A bulk resend as the API and the app show it. */
export function toResend(row: ResendRow): z.input<typeof webhookResend> {
  const { position_at, position_id: _notShown, ...shown } = row;
  return { ...shown, reached_at: position_at };
}
