/** What a delivery came to, and what follows from it. */
import type { Texts } from '../i18n/en.ts';
import type { RouterOutputs } from '../lib/api.ts';
import { nameOfEndpoint, type Endpoint } from './endpoint-name.ts';

export type Delivery = RouterOutputs['admin']['deliveries']['list']['data'][number];

/** What decides about the words for a delivery. */
type Outcome = Pick<Delivery, 'status' | 'response_code' | 'error'>;

/** The statuses of failed deliveries. */
export const FAILED = ['retrying', 'gave_up'] as const;

const EXACT = ['401', '404', '410', '429'];
/** Nothing is to be done about these, as long as other attempts follow. */
const PASSING = ['internal', 'simulated'];
const TONES = { ok: 'good', pending: 'plain', retrying: 'warn', gave_up: 'bad' } as const;
const LOOK_EVERY_MS = 2_000;
const LOOK_AFTER_RETRY_MS = 20_000;

/** Says in words what happened to a delivery, and what to do. */
export function explanationOf(
  { deliveries: { explain, todo } }: Pick<Texts, 'deliveries'>,
  outcome: Outcome,
): { readonly what: string; readonly todo: string | null } {
  const kind = kindOf(outcome);
  const what = kind in explain ? explain[kind as keyof typeof explain] : explain.other;
  const own = kind in todo ? todo[kind as keyof typeof todo] : null;
  if (outcome.status !== 'gave_up') return { what, todo: own };
  const advice = own !== null && !PASSING.includes(kind) ? `${own} ` : '';
  return { what, todo: advice + todo.gave_up };
}

function kindOf({ status, response_code: code, error }: Outcome): string {
  if (status === 'ok') return 'ok';
  if (error !== null) return error;
  if (code === null) return 'pending';
  const exact = code === 403 || code === 407 ? '401' : String(code);
  return EXACT.includes(exact) ? exact : `${Math.floor(code / 100)}xx`;
}

/** How a status is coloured. */
export function toneOfDelivery(status: string): 'good' | 'plain' | 'warn' | 'bad' {
  return status in TONES ? TONES[status as keyof typeof TONES] : 'plain';
}

/** Whether it failed, as far as is known; if so, it can be tried again. */
export function hasFailed(status: string): boolean {
  return FAILED.some((one) => one === status);
}

/** When its page asks for it again. `retriedAt`: when the reader last had it tried again. */
export function looksAgainMs(
  delivery: Pick<Delivery, 'status'> | undefined,
  retriedAt: number,
): number | false {
  const wasJustRetried = Date.now() - retriedAt < LOOK_AFTER_RETRY_MS;
  return delivery?.status === 'pending' || wasJustRetried ? LOOK_EVERY_MS : false;
}

/** How the endpoint of a delivery is called. While they are loading, an id would only flicker. */
export function nameAmong(endpoints: readonly Endpoint[], id: string): string {
  const endpoint = endpoints.find((one) => one.id === id);
  if (endpoint) return nameOfEndpoint(endpoint);
  return endpoints.length === 0 ? '' : id;
}

/** Whether its next attempt waits for somebody: what is scheduled is not made during a pause. */
export function isHeld(
  { status }: Pick<Delivery, 'status'>,
  endpoint: Pick<Endpoint, 'status'> | undefined,
): boolean {
  const awaitsAttempt = status === 'pending' || status === 'retrying';
  return awaitsAttempt && endpoint !== undefined && endpoint.status !== 'active';
}

/** Whether a test is over, and whether it has arrived. */
export function stateOfTest(
  delivery: Pick<Delivery, 'status' | 'attempt'> | undefined,
): 'running' | 'arrived' | 'failed' {
  if (delivery === undefined || delivery.attempt === 0) return 'running';
  return delivery.status === 'ok' ? 'arrived' : 'failed';
}
