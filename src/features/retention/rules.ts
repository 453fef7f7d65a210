/**
 * How long rows are kept, and in which order they are deleted:
 *  * A delivery is deleted 30 days after its last attempt, an event when it is 30 days old and its
 *    last delivery is deleted.
 *  * The usage of a key is kept for the 90 days that the app shows, an audit entry for 400 days.
 *  * A resend is deleted 30 days after its end.
 *  * An idempotency record, and the record of an invitation that was mailed again, are kept for a
 *    day.
 *  * A rate counter counts one minute. An hour later, nobody reads it.
 */
const DAY_MS = 86_400_000;

/** One kind of rows that are deleted when they are old. */
export interface Retention {
  readonly name: string;
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: string;
  readonly keepMs: number;
  /** SQL. Selects the rows to delete; $1 is the time before which rows are old. */
  readonly condition: string;
}

/** All kinds, in the order in which they are deleted: deliveries before their events. */
export const RETENTIONS: readonly Retention[] = [
  {
    name: 'idempotency',
    table: 'idempotency_record',
    key: 'team_id, key',
    keepMs: DAY_MS,
    condition: 'created_at < $1',
  },
  {
    name: 'deliveries',
    table: 'webhook_delivery',
    key: 'team_id, id',
    keepMs: 30 * DAY_MS,
    // An urgent delivery waits for an attempt, even if it gave up before.
    condition: 'next_try_at is null and last_attempt_at < $1 and not urgent',
  },
  {
    name: 'events',
    table: 'event',
    key: 'team_id, id',
    keepMs: 30 * DAY_MS,
    condition: `created_at < $1
      and fanned_out_at is not null
      and not exists (
        select
        from webhook_delivery d
        where d.team_id = event.team_id and d.event_id = event.id
      )`,
  },
  {
    name: 'usage',
    table: 'api_key_usage',
    key: 'team_id, day, key_id',
    keepMs: 90 * DAY_MS,
    condition: `day < ($1::timestamptz at time zone 'UTC')::date`,
  },
  {
    name: 'resends',
    table: 'webhook_resend',
    key: 'team_id, id',
    keepMs: 30 * DAY_MS,
    condition: 'finished_at < $1',
  },
  {
    name: 'invitation_resends',
    table: 'invitation_resend',
    key: 'team_id, id',
    // The hourly limit reads the last hour only.
    keepMs: DAY_MS,
    condition: 'sent_at < $1',
  },
  {
    name: 'audit',
    table: 'audit_log',
    key: 'team_id, id',
    keepMs: 400 * DAY_MS,
    condition: 'created_at < $1',
  },
];

/** Rate counters hold the number of a minute instead of a time. */
export const RATE_COUNTER_KEEP_MINUTES = 60;
