import type { RouterOutputs } from '../lib/api.ts';

export type Member = RouterOutputs['admin']['members']['search']['data'][number];

/** How a member is called on the page: by email, or by id while emails are withheld. */
export const nameOf = ({ email, user_id, id }: Member): string => email ?? user_id ?? id;
