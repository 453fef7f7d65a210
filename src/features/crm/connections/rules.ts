import { ENCRYPTED_COLUMNS } from '../../../core/encrypted-columns.ts';

/** The maximum number of connections per team, disconnected ones not counted. */
export const CONNECTIONS_MAX = 10;

/** What the encrypted credentials of a connection are bound to. */
export function credentialsContext(teamId: string, connectionId: string): string {
  return ENCRYPTED_COLUMNS.crmCredentials.context(teamId, connectionId);
}
