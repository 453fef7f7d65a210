/**
 * Decisions about CRM data that the specification leaves open:
 *  * Only deals of active connections are listed, those of several together; of a paused or disconnected one nothing, until it is active again. Without an
 *    active connection both lists are empty pages. An objection goes with its deal.
 *  * Newest first by when the service came to know them, the id breaks ties. That time is no field of a deal: `synced_at` moves with every sync, so it
 *    could not carry a cursor.
 *  * Deals are no details of members, so they come while `member_detail_enabled` is off, without `owner_user_id`.
 *  * Money and `close_date` are text, as the CRM gave them.
 */
import { ENCRYPTED_COLUMNS } from '../../core/encrypted-columns.ts';

/** What cursors of the lists are issued for. */
export const DEALS_LIST = 'deals';
export const OBJECTIONS_LIST = 'objections';

/** So many connections a team may have that are not disconnected. */
export const CONNECTIONS_MAX = 10;

/** What the encrypted token of a connection is bound to. */
export function credentialsContext(teamId: string, connectionId: string): string {
  return ENCRYPTED_COLUMNS.crmCredentials.context(teamId, connectionId);
}
