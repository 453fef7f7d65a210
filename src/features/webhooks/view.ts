import type { z } from 'zod';
import type { webhookDelivery, webhookEndpoint } from './schema.ts';
import type { DeliveryRow, EndpointRow } from './store.ts';

/** Field order is the specification's. Without the secret: whoever creates an endpoint adds it. */
export function toEndpoint(row: EndpointRow): z.input<typeof webhookEndpoint> {
  const { id, url, events, status, api_version, description, created_at, last_success_at } = row;
  return { id, url, events: [...events], status, api_version, description, created_at, last_success_at };
}

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
