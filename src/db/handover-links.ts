import { statement, type Tx } from './client.ts';

// Expired ones, too: where a clock is behind, they could still be opened.
/**
 * Ends the links to the secrets of a webhook endpoint that nobody has opened. The caller has locked
 * the endpoint, so nobody makes another one meanwhile.
 */
export const endLinksToEndpoint = statement(
  'db.endLinksToEndpoint',
  `update handover
   set expires_at = least(expires_at, $3), sealed = null
   where team_id = $1 and endpoint_id = $2 and sealed is not null`,
).sends<[tx: Tx, teamId: string, endpointId: string, at: Date]>();
