/**
 * What the facts of a row do not tell alone. Pure functions. None of them works out what a worker
 * does next: a change of the delivery loop needs no change here.
 */
import { timeOfRequest, KEPT_DAYS_MAX } from '../features/requests/rules.ts';
import type { KeyRow } from './caller-store.ts';
import type { DeliveryRow, EventRow } from './find-store.ts';
import { keptDays } from './rules.ts';
import type { EndpointRow, LockRow, TeamRow } from './state-store.ts';

/** The codes are for programs, the texts for people. */
export const REASON_CODES = [
  'not_found',
  'cut',
  'no_worker',
  'row_locked',
  'worker_dead',
  'endpoint_deleted',
  'endpoint_not_active',
  'no_delivery',
  'key_ended',
  'team_not_active',
] as const;

export interface Reason {
  readonly code: (typeof REASON_CODES)[number];
  readonly text: string;
}

const IDS =
  'Ids are: of a request a UUID (version 7), of an event evt_…, of a delivery whd_…, of an ' +
  'endpoint whe_…, of a key key_… (or its public part), of a CRM connection crm_…, of a team its ' +
  'own, with :sandbox at its end for a sandbox.';

export function notFound(id: string): Reason {
  const came = timeOfRequest(id);
  const form = came ? `It looks like the id of a request of ${came.toISOString()}.` : IDS;
  const text =
    `Nothing is found. ${form} Kept are: calls of keys ${KEPT_DAYS_MAX} days at most (not those ` +
    `of the app, nor calls without a valid key), audit entries ${keptDays('audit')} days (of a ` +
    `sandbox 30), events ${keptDays('events')} and deliveries ${keptDays('deliveries')}. A call ` +
    `is written after two seconds. The log of the API has a line for each request: search it for ` +
    `request_id ${id}.`;
  return { code: 'not_found', text };
}

export const NO_WORKER: Reason = {
  code: 'no_worker',
  text: 'No worker is alive. Start one: nothing is sent until then (alert WorkersGone).',
};

export function lockReason({ pid, application_name: name, xact_start: since }: LockRow): Reason {
  const who = name === '' ? '' : ` (${name})`;
  const text = `The session ${pid}${who} has locked it since ${since}. Workers pass over it.`;
  return { code: 'row_locked', text };
}

/** `endpoint`: that of the delivery, if it still exists. `workers`: those that are alive. */
export function deliveryReasons(
  { status, urgent, claimed_by: worker }: DeliveryRow,
  endpoint: EndpointRow | undefined,
  workers: readonly number[],
): Reason[] {
  if (worker !== null)
    return workers.includes(worker)
      ? []
      : [{ code: 'worker_dead', text: `The worker ${worker}, which has claimed it, is dead.` }];
  if (!urgent && (status === 'ok' || status === 'gave_up')) return [];
  if (!endpoint)
    return [{ code: 'endpoint_deleted', text: 'The endpoint is deleted, and so it is not sent.' }];
  return urgent || endpoint.status === 'active'
    ? []
    : [{ code: 'endpoint_not_active', text: `Its endpoint is ${endpoint.status}.` }];
}

/** The endpoints that subscribe to the event and have no delivery of it. */
export function findMissing(
  { type, fanned_out_at: fannedOutAt }: EventRow,
  deliveries: readonly DeliveryRow[],
  endpoints: readonly EndpointRow[],
): EndpointRow[] {
  if (fannedOutAt === null) return [];
  const reached = new Set(deliveries.map(({ endpoint_id: id }) => id));
  return endpoints.filter(({ id, events }) => events.includes(type) && !reached.has(id));
}

/** `missing`: what `findMissing` returns. */
export function eventReasons(
  { type, fanned_out_at: fannedOutAt }: EventRow,
  deliveries: readonly DeliveryRow[],
  missing: readonly EndpointRow[],
): Reason[] {
  if (fannedOutAt === null || (deliveries.length > 0 && missing.length === 0)) return [];
  const to = missing.map(({ id, status }) => `${id} (${status} now)`).join(', ');
  const what = to === '' ? `It has none, and none subscribes to ${type} now.` : `None to ${to}.`;
  const text =
    `Deliveries: ${what} An endpoint gets what happens while it is active and subscribes to it. ` +
    `Deliveries go with their endpoint, and after ${keptDays('deliveries')} days.`;
  return [{ code: 'no_delivery', text }];
}

export function keyReasons({ state }: KeyRow): Reason[] {
  const text = 'Its calls get 401. They stand only in the log of the API, as key_prefix.';
  return state === 'active' ? [] : [{ code: 'key_ended', text }];
}

export function teamReasons({ status }: TeamRow): Reason[] {
  const text = 'The keys of the team get 403. Its webhooks that wait are sent all the same.';
  return status === 'active' ? [] : [{ code: 'team_not_active', text }];
}
