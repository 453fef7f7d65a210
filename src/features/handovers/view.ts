import type { z } from 'zod';
import type { handover } from './schema.ts';
import type { HandoverRow, ListedRow } from './store.ts';

type Shown = z.input<typeof handover>;
type State = Pick<Shown, 'state'>;

/** A link as admins see it: without what it holds. */
export function toHandover(row: Omit<HandoverRow, 'sealed'> & State): Shown {
  const { id, key_id, created_by, created_at, expires_at, opened_at, state } = row;
  return { id, key_id, created_by, created_at, expires_at, opened_at, state };
}

/** The same in a list. */
export function toListed(row: ListedRow & State): Shown & { key_name: string } {
  return { ...toHandover(row), key_name: row.key_name };
}
