import type { z } from 'zod';
import { EVENT_API_VERSION } from '../../core/events.ts';
import type { event } from './schema.ts';
import type { EventRow } from './store.ts';

/** An event as the API shows it: the envelope that a webhook delivers. */
export function toEvent(
  teamId: string,
  { id, type, created_at, data }: EventRow,
): z.input<typeof event> {
  return { id, type, created_at, api_version: EVENT_API_VERSION, tenant_id: teamId, data };
}
