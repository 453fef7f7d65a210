/**
 * Which columns a seed writes, listed, generated or of the demo team. A row names every column of
 * its model but those that are left to their defaults here: a new column is one or the other, or
 * its seed does not compile.
 */
import type { ColumnOf, Model, TableOf } from '../db/rows.ts';

type Columns<Of extends { readonly [M in Model]?: ColumnOf<M> }> = Of;

type LeftOut = Columns<{
  Team: 'creation_hash' | 'erasing_since';
  Member: 'language' | 'invited_at' | 'invitation_sent_at';
  ApiKey: 'last_used_at';
  Event: 'kept_for_deliveries' | 'traceparent' | 'place' | 'request_id';
  /** It was not changed since it was created. */
  Assignment: 'updated_at';
  /** As if it were written by hand, not synchronized. */
  CrmObjection: 'source' | 'synced_at';
  /** It has no credentials, so it is never synchronized. */
  CrmConnection:
    | 'credentials_encrypted'
    | 'objection_marker'
    | 'base_url'
    | 'sync_state'
    | 'sync_token'
    | 'sync_lease_until'
    | 'next_sync_at'
    | 'sync_requested_at'
    | 'last_synced_at'
    | 'last_error'
    | 'failure_streak';
  /** It has not failed, its secret was not rotated, and whoever loads the seed gets the secret. */
  WebhookEndpoint:
    | 'earlier_secrets_encrypted'
    | 'earlier_secrets_until'
    | 'secret_unconfirmed_since'
    | 'failing_since'
    | 'hourly_failures'
    | 'activated_at'
    | 'paused_at';
  /** No worker has it, nobody has asked for an attempt, and its earlier attempts are not known. */
  WebhookDelivery:
    | 'failed_attempts'
    | 'next_try_at'
    | 'urgent'
    | 'resent'
    | 'claimed_by'
    | 'first_worker'
    | 'waits_as'
    | 'due_at'
    | 'held_by'
    | 'has_failed'
    | 'kept_from';
  /** Nobody plays with it. */
  Sandbox: 'suspended_until' | 'receivers_fail_until';
}>;

/**
 * Values by column. Arrays and objects go into array and JSON columns. Bytes are given as `\x…`
 * text, times as ISO text.
 */
export type SeedRow<M extends Model> = Readonly<
  Record<Exclude<ColumnOf<M>, M extends keyof LeftOut ? LeftOut[M] : never>, unknown>
>;

/** The rows of each table. */
export type SeedRows = { readonly [M in Model as TableOf<M>]: SeedRow<M> };
