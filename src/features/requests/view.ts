import type { z } from 'zod';
import type { loggedRequest } from './schema.ts';
import type { RequestRow } from './store.ts';

/** A call as the API shows it. */
export function toRequest({ errors, ...row }: RequestRow): z.input<typeof loggedRequest> {
  return { ...row, errors: errors === null ? null : [...errors] };
}
