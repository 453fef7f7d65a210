/**
 * Nobody waits for the CRM of somebody else. What is decided about that:
 *  * Jobs run in queues, each one job at a time, and each queue has a slot of its own in every
 *    worker (`SYNC_QUEUES`). So whatever hangs holds its own queue, and no other job.
 *  * Each provider has its own queues: if one is away, no connection with another waits for it.
 *  * Each provider has three lanes (`SYNC_LANES`). `regular` has connections whose last run was
 *    fine, and that only read what has changed: about a second. A round that goes on, or reads
 *    everything, such as a first import, is `long`. A connection that failed is `failing` until a
 *    run of it ends well: with a complete round, or after some pages. So a CRM that hangs holds a
 *    regular queue once, for one call, and a round is in `failing` for one run after each failure.
 *  * In `long`, a first import begins before rounds that go on: a small one waits for one run of a
 *    large one. Daily rounds take turns with those that go on: none holds up another for ever. In
 *    `failing`, the fewer failures, the sooner: one failure does not wait for CRMs that have been
 *    away for days.
 *  * A team is always in the same queue of a lane. There it has at most one job that waits, however
 *    many of its connections are due. The next one is added after its run, behind those of other
 *    teams. So another team waits for two runs of it at most, each of a minute and a call.
 *  * Sandboxes share one queue: their CRM is simulated, and no call of theirs leaves the process.
 * Rejected: a queue for each team, since graphile-worker locks all free queues whenever it takes a
 * job; more runs at once, since each may hold a large page in memory.
 *
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
 *  * A deal that the CRM deletes is removed by the next round, as a rule. HubSpot lists all those
 *    of 90 days, and cannot say which are new: a run reads 1,000 of them. In an account with more,
 *    any others are removed by the daily round. Rejected: to leave all to that round; to read the
 *    whole list every few hours, which is 1,000 calls for 100,000 deals.
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
import { CRM_PROVIDERS } from '../../core/vocabularies.ts';

/** The lanes of synchronizations, and how many queues each has for each provider. */
export const SYNC_LANES = { regular: 3, long: 1, failing: 1 } as const;
export type SyncLane = keyof typeof SYNC_LANES;
export const SANDBOX_QUEUE = 'sandboxes';

/** How many synchronizations run at once, in all workers together. */
export const SYNC_QUEUES =
  CRM_PROVIDERS.length * Object.values(SYNC_LANES).reduce((sum, queues) => sum + queues, 0) + 1;

export const OBJECTION_MAX_CHARACTERS = 5_000;
export const DEALS_PER_NOTE_MAX = 20;

/** The names of the lists in cursors. */
export const DEALS_LIST = 'deals';
export const OBJECTIONS_LIST = 'objections';
