/**
 * Decisions about connections that the specification leaves open:
 *  * Credentials are tried before they are stored, both at first and when they are replaced. They
 *    are never shown again.
 *  * New credentials may belong to another account of the same CRM. So they forget how far the
 *    former ones had read: the next round reads everything, and removes what it does not find.
 *  * They also forget the failures of the former ones. A run that still uses those loses the
 *    connection. A paused connection stays paused.
 *  * An account may be connected twice, and then has all of its deals twice: a token does not tell
 *    whose it is. The admin page says so. Rejected: to ask the CRM for the account, which needs a
 *    column, and a right that nobody has given to a token that works.
 */
import { ENCRYPTED_COLUMNS } from '../../../core/encrypted-columns.ts';
import { invalidField } from '../../../core/problem.ts';
import { limitOf } from '../../../core/team-limits.ts';

/** The statuses of a connection. Nobody sees a disconnected one any more. */
export const STATUSES = ['active', 'paused', 'disconnected'] as const;

/**
 * Throws `validation_error` (field `provider`) if the team has as many connections as it may have.
 * Disconnected ones do not count.
 */
export function requireRoom(teamId: string, connections: number): void {
  const max = limitOf(teamId, 'crmConnections');
  if (connections >= max)
    throw invalidField(
      'provider',
      `A team has at most ${max} CRM connections.`,
      'too_many_connections',
    );
}

/** What the encrypted credentials of a connection are bound to. */
export function credentialsContext(teamId: string, connectionId: string): string {
  return ENCRYPTED_COLUMNS.crmCredentials.context(teamId, connectionId);
}
