import type { RouterOutputs } from '../lib/api.ts';

type Connection = RouterOutputs['admin']['crm']['list']['data'][number];

/** Nothing can be read. A server older than this page does not tell; it is taken to have one. */
export function isTokenMissing({ has_credentials }: Partial<Connection>): boolean {
  return has_credentials === false;
}

/** Whether it is read, as far as is known. */
export function isCrmFine(connection: Connection): boolean {
  const { status, last_error } = connection;
  return status === 'active' && last_error === null && !isTokenMissing(connection);
}
