/**
 * How long rows are kept, and in which order they are deleted:
 *  * A delivery is deleted 30 days after its last attempt, to the minute, and an event when it is
 *    30 days old and its last delivery is deleted. So the events of a paused endpoint stay as long
 *    as their deliveries wait. They may be millions and cost the removal nothing: it marks each of
 *    them once.
 *  * The usage of a key is kept for the 90 days that the app shows, an audit entry for 400 days. A
 *    sandbox keeps both for 30 days.
 *  * A resend is deleted 30 days after its end, a mail of a sandbox when it is 30 days old.
 *  * The record of an invitation that was mailed again is kept for a day.
 *  * An idempotency record is kept for the day that it is valid, and a spent token until it has
 *    expired, and both for another hour: the clock that they are judged by is not the one that they
 *    are removed by.
 *  * A job that has failed for the last time is kept for another 30 days, so that an operator can
 *    read why, mend it and reschedule the job. Its time to run is hours after its last attempt.
 *  * A rate counter counts one minute. An hour later, nobody reads it, unless it is that of a key:
 *    it tells when the key was last used, and stays as long as the key.
 *
 * A worker whose clock is ahead removes nothing too early (`db/database-clock.ts`).
 *
 * Each statement reads and deletes at most {@link BATCH_MAX} rows, from where the last one ended,
 * by an index that holds only rows that can go. That of the jobs has no index, and they are few. A
 * kind that fails does not stop the others.
 */
import { EVENT_KEEP_MS } from '../../core/events.ts';
import { SANDBOX_END } from '../../core/sandbox.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Nothing of a sandbox that has an age is kept for longer. */
const SANDBOX_KEEP_MS = 30 * DAY_MS;
/** SQL. Indexes hold these rows only. */
const IS_OF_SANDBOX = `team_id like '%${SANDBOX_END}'`;

/** The most rows that one statement reads. It takes tens of milliseconds. */
export const BATCH_MAX = 1_000;

/** What keeps an old row until all rows that need it are deleted. */
export interface Need {
  /** SQL: the rows that need a row of `seen`. */
  readonly rows: string;
  /** The column that marks a row that is needed. The condition leaves it out from then on. */
  readonly mark: string;
}

/** One kind of rows that are deleted when they are old. */
export interface Retention {
  readonly name: string;
  readonly table: string;
  readonly keepMs: number;
  /** The column that the age goes by. An index begins with it. */
  readonly at: string;
  /** The type of that column: `timestamptz` unless it is said. A date is a day in UTC. */
  readonly type?: 'timestamptz' | 'date';
  /** SQL: what else must hold. */
  readonly condition?: string;
  readonly neededBy?: Need;
  /** Whether events may be kept for these rows. */
  readonly isDelivery?: true;
}

/** All kinds, in the order in which they are deleted: deliveries before their events. */
export const RETENTIONS: readonly Retention[] = [
  {
    name: 'idempotency',
    table: 'idempotency_record',
    keepMs: DAY_MS + HOUR_MS,
    at: 'created_at',
  },
  {
    name: 'deliveries',
    table: 'webhook_delivery',
    keepMs: 30 * DAY_MS,
    at: 'kept_from',
    // An urgent delivery waits for an attempt, even if it gave up before.
    condition: `status <> 'pending' and not urgent`,
    isDelivery: true,
  },
  {
    name: 'events',
    table: 'event',
    keepMs: EVENT_KEEP_MS,
    at: 'created_at',
    condition: 'fanned_out_at is not null and not kept_for_deliveries',
    // Whoever deletes the last delivery clears the mark (`db/kept-events.ts`).
    neededBy: {
      rows: 'webhook_delivery where team_id = seen.team_id and event_id = seen.id',
      mark: 'kept_for_deliveries',
    },
  },
  {
    name: 'usage',
    table: 'api_key_usage',
    keepMs: 90 * DAY_MS,
    at: 'day',
    type: 'date',
  },
  {
    name: 'resends',
    table: 'webhook_resend',
    keepMs: 30 * DAY_MS,
    at: 'finished_at',
  },
  {
    name: 'invitation_resends',
    table: 'invitation_resend',
    // The hourly limit reads the last hour only.
    keepMs: DAY_MS,
    at: 'sent_at',
  },
  {
    name: 'spent_tokens',
    table: 'spent_token',
    keepMs: HOUR_MS,
    at: 'expires_at',
  },
  {
    name: 'sandbox_mails',
    table: 'sandbox_mail',
    keepMs: SANDBOX_KEEP_MS,
    at: 'created_at',
  },
  {
    name: 'audit',
    table: 'audit_log',
    keepMs: 400 * DAY_MS,
    at: 'created_at',
  },
  {
    name: 'sandbox_usage',
    table: 'api_key_usage',
    keepMs: SANDBOX_KEEP_MS,
    at: 'day',
    type: 'date',
    condition: IS_OF_SANDBOX,
  },
  {
    name: 'sandbox_audit',
    table: 'audit_log',
    keepMs: SANDBOX_KEEP_MS,
    at: 'created_at',
    condition: IS_OF_SANDBOX,
  },
];

/** How long a job that has failed for the last time is kept. */
export const GIVEN_UP_JOB_KEEP_MS = 30 * DAY_MS;

/** Rate counters hold the number of a minute instead of a time. */
export const RATE_COUNTER_KEEP_MINUTES = 60;
