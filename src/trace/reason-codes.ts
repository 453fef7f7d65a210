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

export interface Reason {
  readonly code: (typeof REASON_CODES)[number];
  readonly text: string;
}
