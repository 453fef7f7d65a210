import type { z } from 'zod';
import type { webhookEndpoint } from './schema.ts';
import type { EndpointRow } from './store.ts';

/** Field order is the specification's. Without the secret: whoever creates an endpoint adds it. */
export function toEndpoint(row: EndpointRow): z.input<typeof webhookEndpoint> {
  const { id, url, events, status, api_version, description, created_at, last_success_at } = row;
  return { id, url, events: [...events], status, api_version, description, created_at, last_success_at };
}
