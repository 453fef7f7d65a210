/** Deliveries for the endpoint queues of a worker, without a database. */
import type { ClaimedDelivery } from '../../src/delivery/claim-store.ts';
import type { EndpointQueue, Flight } from '../../src/delivery/endpoint-queue.ts';
import { createQueues, type Queues } from '../../src/delivery/queues.ts';

let made = 0;

/** Queues of a worker that may hold so many deliveries, eight attempts in flight an endpoint. */
export const queuesFor = (held = 640): Queues =>
  createQueues({ held: () => held, maxPerEndpoint: 8 });

/** A claimed first attempt to this endpoint. */
export const row = (endpoint: string, fields: Partial<ClaimedDelivery> = {}): ClaimedDelivery => ({
  team_id: 'team_a',
  id: `dlv_${(made += 1)}`,
  endpoint_id: endpoint,
  event_id: 'evt_1',
  event_type: 'member.joined',
  status: (fields.attempt ?? 0) > 0 ? 'retrying' : 'pending',
  attempt: 0,
  scheduled_attempts: 0,
  next_try_at: '2026-11-20T08:00:00.000Z',
  urgent: false,
  resent: false,
  url: 'https://example.com/',
  api_version: '2026-11',
  secret_encrypted: Buffer.alloc(0),
  earlier_secrets_encrypted: null,
  event_data: '{}',
  shows_person: true,
  event_created_at: '2026-11-20T08:00:00.000Z',
  event_traceparent: null,
  ...fields,
});
/** A claimed retry to this endpoint. */
export const retry = (endpoint: string): ClaimedDelivery => row(endpoint, { attempt: 1 });

/** Queues the deliveries in this order. */
export function fill(queues: Queues, rows: readonly ClaimedDelivery[], claimedAtMs = 0): void {
  for (const each of rows) queues.accept(each, claimedAtMs);
}

/** Launches every attempt that is allowed now. */
export function launch(queues: Queues, nowMs = 0): Flight[] {
  const flights: Flight[] = [];
  for (let flight = queues.next(nowMs); flight; flight = queues.next(nowMs)) flights.push(flight);
  return flights;
}

/** Lets attempts of the endpoint succeed until its cap is at the maximum. */
export function warm(queues: Queues, endpoint: string): EndpointQueue {
  for (let n = 0; n < 5; n += 1) {
    queues.accept(row(endpoint), 0);
    for (const flight of launch(queues)) queues.land(flight, 'good', 0);
  }
  return queues.queueOf('team_a', endpoint);
}
