/**
 * How long things are kept (decisions 46), and in which order they go. A delivery goes 30 days after its last attempt, an event when it is 30 days old and its last
 * delivery is gone. The use of a key is kept for the 90 days that the app shows. A resend goes 30 days after its end. Callers' rate buckets are of one minute; an hour later nobody asks for them.
 */
const DAY_MS = 86_400_000;

/** One kind of row that grows old: the statement deletes at most $2 rows that are older than $1. */
export interface Retention {
  readonly name: string;
  readonly keepMs: number;
  readonly condition: string;
  readonly table: string;
  readonly key: string;
}

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
    // One that gave up waits again while an attempt of it is asked for.
    condition: 'next_try_at is null and last_attempt_at < $1 and not urgent',
  },
  {
    name: 'events',
    table: 'event',
    key: 'team_id, id',
    keepMs: 30 * DAY_MS,
    condition: `created_at < $1 and fanned_out_at is not null
      and not exists (select from webhook_delivery d where d.team_id = event.team_id and d.event_id = event.id)`,
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
    // The hourly limit looks back one hour.
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

/** Rate counters are told apart by minutes, not by a time. */
export const RATE_COUNTER_KEEP_MINUTES = 60;
