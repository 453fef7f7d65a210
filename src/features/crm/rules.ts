/**
 * Decisions about the lists of deals and objections that the specification leaves open:
 *  * Only data of active connections is listed, that of several connections together. The data of a
 *    paused connection is hidden until it is resumed. Without an active connection both lists are
 *    empty pages. An objection is listed with its deal.
 *  * The lists are sorted by when the service first read a row, newest first, then by id. A deal
 *    has no field for that time: `synced_at` changes with every round, so it could not carry a
 *    cursor.
 *  * Deals are not member details. They are listed while `member_detail_enabled` is off, but
 *    without `owner_user_id`.
 *  * Money and `close_date` are text, as the CRM gave them. A text is cut after 10,000 characters,
 *    an objection after 5,000. A note is an objection of 20 deals at most.
 */

export const OBJECTION_MAX_CHARACTERS = 5_000;
export const DEALS_PER_NOTE_MAX = 20;

/** The names of the lists in cursors. */
export const DEALS_LIST = 'deals';
export const OBJECTIONS_LIST = 'objections';
