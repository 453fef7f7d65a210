import type { z } from 'zod';
import type { handover } from './schema.ts';
import type { HandoverRow } from './store.ts';

/** A link as admins see it: without what it holds. */
export function toHandover(
  row: HandoverRow & Pick<z.input<typeof handover>, 'state'>,
): z.input<typeof handover> {
  const { id, key_id, created_by, created_at, expires_at, opened_at, state } = row;
  return { id, key_id, created_by, created_at, expires_at, opened_at, state };
}
