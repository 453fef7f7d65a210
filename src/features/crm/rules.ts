/**
 * Decisions about synchronizations that the specification leaves open:
 *  * `crm.sync.failed` is raised when "a CRM sync attempt failed". An attempt is one run: a regular
 *    one, an automatic retry, or one that was asked for. While a CRM refuses us there is an event
 *    for each retry: after 1, 2, 4 and 8 minutes, then every 15. No attempt has failed if the run
 *    only waits for a rate limit after some pages, or if its worker stops while it waits, or if an
 *    admin has taken the connection from it, or if our own database was lost: the next run goes on
 *    where it stopped.
 *  * Whoever asks for a synchronization while one goes on gets another one after it, because the
 *    first has read some lists already. If they ask several times meanwhile, it is one. After a run
 *    that has failed it follows at once, before the retry would.
 *
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
