import type { z } from 'zod';
import type { webhookEndpoint } from './schema.ts';
import type { EndpointRow } from './store.ts';

/**
 * An endpoint as the API shows it at `now`, without its secret. The order of the fields is the
 * specification's.
 */
export function toEndpoint(row: EndpointRow, now: Date): z.input<typeof webhookEndpoint> {
  const { id, url, events, status, api_version, description, created_at, last_success_at } = row;
  const until = row.earlier_secrets_until;
  return {
    id,
    url,
    events: [...events],
    status,
    api_version,
    description,
    created_at,
    last_success_at,
    ...(until !== null && Date.parse(until) > now.getTime() && { earlier_secrets_until: until }),
  };
}
