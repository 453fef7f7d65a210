import type { z } from 'zod';
import type { auditEntry } from './schema.ts';
import type { AuditRow } from './store.ts';

/** The entry as admins see it. */
export function toAuditEntry(row: AuditRow): z.input<typeof auditEntry> {
  const { id, created_at, actor_kind, actor_id, action, target_id, request_id, details } = row;
  return {
    id,
    created_at,
    actor: { kind: actor_kind, id: actor_id },
    action,
    target_id,
    request_id,
    details,
  };
}
