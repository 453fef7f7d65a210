import type { z } from 'zod';
import type { connection } from './schema.ts';
import type { ConnectionRow } from './store.ts';

/** The connection as admins see it, without its credentials. */
export function toConnection(row: ConnectionRow): z.input<typeof connection> {
  return {
    id: row.id,
    provider: row.provider,
    status: row.status,
    objection_marker: row.objection_marker,
    created_at: row.created_at,
    last_synced_at: row.last_synced_at,
    last_error: row.last_error,
    failure_streak: row.failure_streak,
    next_sync_at: row.next_sync_at,
    syncing: row.syncing,
    due: row.due,
    has_credentials: row.has_credentials,
  };
}
