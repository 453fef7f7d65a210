import type { z } from 'zod';
import type { handover } from './schema.ts';
import type { HandoverRow } from './store.ts';

/** A link as admins see it: without what it holds. */
export function toHandover({
  sealed: _,
  ...shown
}: HandoverRow & Pick<z.input<typeof handover>, 'state'>): z.input<typeof handover> {
  return shown;
}
