/**
 * Which columns a seed writes. A listed row names every column of its model but those that are left
 * to their defaults here: a new column is one or the other, or its seed does not compile.
 */
import type { ColumnOf, Model } from '../db/rows.ts';

export type SeedRow<M extends Model, Left extends ColumnOf<M> = never> = Readonly<
  Record<Exclude<ColumnOf<M>, Left>, unknown>
>;

/** A generated row. A column that it does not name gets its default. */
export type GeneratedRow<M extends Model> = Readonly<Partial<Record<ColumnOf<M>, unknown>>>;

export type SeedTeamRow = SeedRow<'Team', 'creation_hash' | 'erasing_since'>;
export type SeedMember = SeedRow<'Member', 'language' | 'invited_at' | 'invitation_sent_at'>;
export type SeedKey = SeedRow<'ApiKey', 'last_used_at'>;
export type SeedEvent = SeedRow<
  'Event',
  'kept_for_deliveries' | 'traceparent' | 'place' | 'request_id'
>;
/** It was not changed since it was created. */
export type SeedAssignment = SeedRow<'Assignment', 'updated_at'>;
/** As if it were written by hand, not synchronized. */
export type SeedObjection = SeedRow<'CrmObjection', 'source' | 'synced_at'>;
/** It has no credentials, so it is never synchronized. */
export type SeedConnection = Pick<
  SeedRow<'CrmConnection'>,
  'team_id' | 'id' | 'provider' | 'status' | 'created_at'
>;
/** It has not failed, its secret was not rotated, and whoever loads the seed gets the secret. */
export type SeedEndpoint = SeedRow<
  'WebhookEndpoint',
  | 'earlier_secrets_encrypted'
  | 'earlier_secrets_until'
  | 'secret_unconfirmed_since'
  | 'last_success_at'
  | 'failing_since'
  | 'hourly_failures'
  | 'activated_at'
>;
/** No worker has it, nobody has asked for an attempt, and its earlier attempts are not known. */
export type SeedDelivery = SeedRow<
  'WebhookDelivery',
  | 'extra_attempts'
  | 'scheduled_attempts'
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
  | 'kept_from'
>;
