/** The shape of what `trace --json` prints. */
import { z } from 'zod';

/** Why something waits, or what became of it. The codes are for programs, the texts for people. */
export const REASON_CODES = [
  // What became of the id.
  'not_found',
  'request_refused',
  'request_read',
  'request_wrote_nothing',
  'request_raised_no_event',
  'request_not_logged',
  'by_the_app',
  'by_the_platform',
  'by_a_simulation',
  'by_a_job',
  'by_the_service',
  'linked_by_time',
  'cut',
  // What an event waits for.
  'fan_out_waits',
  'place_waits',
  'no_subscriber',
  'endpoint_not_active_then',
  'deliveries_gone',
  // What a delivery waits for.
  'delivered',
  'gave_up',
  'endpoint_deleted',
  'endpoint_disabled',
  'endpoint_disabled_failures',
  'next_attempt',
  'claimed',
  'claimed_by_dead_worker',
  'endpoint_at_limit',
  'behind_others',
  'due_now',
  'not_claimed',
  'attempt_requested',
  // What is to know of a key.
  'key_revoked',
  'key_expired',
  'key_ends',
  'key_bound',
  'key_unused',
  'key_calls',
  // What a CRM connection does, or waits for.
  'crm_disconnected',
  'crm_paused',
  'crm_no_credentials',
  'crm_failed',
  'crm_running',
  'crm_next',
  'crm_job',
  'crm_due',
  'crm_not_due',
  // What is in the way of many.
  'no_worker',
  'row_locked',
  'receivers_fail',
  'team_suspended',
  'team_ended',
  'team_erased',
] as const;

const id = z.string();
const time = z.iso.datetime({ offset: true });
const count = z.int().min(0);

const reason = z.strictObject({ code: z.enum(REASON_CODES), text: z.string() });

const request = z.strictObject({
  id,
  team_id: id,
  at: time,
  key_id: id,
  method: z.string(),
  route: z.string(),
  status: z.int(),
  error_code: z.string().nullable(),
  /** The limit that has refused the call. */
  limited_by: z.string().nullable(),
  duration_ms: z.int(),
});

const auditEntry = z.strictObject({
  id,
  team_id: id,
  at: time,
  actor_kind: z.string(),
  actor_id: id,
  action: z.string(),
  target_id: id.nullable(),
  request_id: id,
});

const event = z.strictObject({
  id,
  team_id: id,
  type: z.string(),
  at: time,
  request_id: id.nullable(),
  fanned_out_at: time.nullable(),
  has_place: z.boolean(),
  why: z.array(reason),
});

const attempt = z.strictObject({
  attempt: count,
  at: time,
  response_code: z.int().nullable(),
  response_ms: z.int().nullable(),
  error: z.string().nullable(),
});

const delivery = z.strictObject({
  id,
  team_id: id,
  event_id: id,
  event_type: z.string(),
  endpoint_id: id,
  status: z.string(),
  at: time,
  attempts_made: count,
  next_attempt_at: time.nullable(),
  worker: z.int().nullable(),
  attempts: z.array(attempt),
  why: z.array(reason),
});

const endpoint = z.strictObject({
  id,
  team_id: id,
  host: z.string(),
  status: z.string(),
  events: z.array(z.string()),
  failing_since: time.nullable(),
  last_success_at: time.nullable(),
  waiting: z.strictObject({ requested: count, first: count, retries: count, is_cut: z.boolean() }),
  oldest_due_at: time.nullable(),
  in_hand: z.array(z.strictObject({ worker: z.int(), count })),
  why: z.array(reason),
});

/** An audit entry about a key or a connection. */
const change = z.strictObject({
  at: time,
  action: z.string(),
  actor_kind: z.string(),
  actor_id: id,
  request_id: id,
  /** Why a synchronization failed. */
  reason: z.string().nullable(),
});

const key = z.strictObject({
  id,
  team_id: id,
  name: z.string(),
  /** The public part. */
  prefix: z.string(),
  state: z.enum(['active', 'expired', 'revoked']),
  created_by: id,
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable(),
  /** How many networks it is bound to; 0: none. */
  networks: count,
  /** Those of the last days. */
  calls: z.strictObject({ ok: count, refused: count, limited: count, failed: count }),
  changes: z.array(change),
  why: z.array(reason),
});

const connection = z.strictObject({
  id,
  team_id: id,
  provider: z.string(),
  status: z.string(),
  created_at: time,
  has_credentials: z.boolean(),
  last_synced_at: time.nullable(),
  last_error: z.string().nullable(),
  failure_streak: count,
  next_sync_at: time.nullable(),
  /** Somebody has asked for a run during the one that goes on. */
  requested_at: time.nullable(),
  /** Until then a run has the connection. */
  held_until: time.nullable(),
  /** The list that a round has come to. */
  reads: z.string().nullable(),
  jobs: z.array(z.strictObject({ task: z.string(), run_at: time, locked_at: time.nullable() })),
  changes: z.array(change),
  why: z.array(reason),
});

const team = z.strictObject({
  id,
  status: z.string(),
  is_sandbox: z.boolean(),
  why: z.array(reason),
});

export const traceResult = z.strictObject({
  id,
  asked_at: time,
  found: z.boolean(),
  notes: z.array(reason),
  requests: z.array(request),
  audit: z.array(auditEntry),
  events: z.array(event),
  deliveries: z.array(delivery),
  endpoints: z.array(endpoint),
  keys: z.array(key),
  connections: z.array(connection),
  teams: z.array(team),
  /** The numbers of the workers that are alive. */
  workers: z.array(z.int()),
});

export type TraceResult = z.output<typeof traceResult>;
export type Reason = z.output<typeof reason>;
