/** Which failed deliveries are sent again: see `resend.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import type { Times, TimeSearch } from '../lib/search.ts';
import { FAILED } from './delivery-outcome.ts';
import type { Endpoint } from './endpoint-name.ts';

export type Resend = RouterOutputs['admin']['deliveries']['listResends']['data'][number];

/** The beginning of a time without one. */
const EVER = new Date(0).toISOString();
const LOOK_EVERY_MS = 1_500;

/** Stands for every endpoint. */
export const ALL = '';

/** Which of the failed deliveries. */
export interface Which {
  readonly type: string | undefined;
  readonly status: (typeof FAILED)[number] | undefined;
}

/** What is chosen at first: what the filters of the page say, as far as it can be sent again. */
export function firstChoice(
  endpoints: readonly Endpoint[],
  {
    endpoint,
    times,
    type,
    status,
  }: {
    readonly endpoint: string | undefined;
    readonly times: TimeSearch;
    readonly type: string | undefined;
    readonly status: string | undefined;
  },
): { readonly endpointId: string | undefined; readonly times: TimeSearch; readonly which: Which } {
  return {
    endpointId: endpointAmong(endpoints, endpoint),
    times: times.past ? times : { past: '24h' },
    // A test is not sent again.
    which: {
      type: type === 'ping' ? undefined : type,
      status: FAILED.find((one) => one === status),
    },
  };
}

/** The endpoint of the filter, if it is there; else all of them, or the only one. */
function endpointAmong(
  endpoints: readonly Pick<Endpoint, 'id'>[],
  chosen: string | undefined,
): string | undefined {
  if (endpoints.some(({ id }) => id === chosen)) return chosen;
  return endpoints.length > 1 ? ALL : endpoints[0]?.id;
}

/** The choice as the service takes it. */
export function wantedOf(
  endpointId: string | undefined,
  { type, status }: Which,
  { since = EVER, until }: Times,
) {
  return {
    endpoint_id: endpointId === ALL ? undefined : endpointId,
    since,
    until,
    event_type: type,
    status,
  };
}

/**
 * Why nothing can be sent now, or null. `total`: how many fit; undefined: they are being counted,
 * or the count has failed (`uncounted`).
 */
export function whyNotResend({
  endpoint,
  isCounting,
  total,
}: {
  readonly endpoint: Pick<Endpoint, 'status'> | undefined;
  readonly isCounting: boolean;
  readonly total: number | undefined;
}): 'counting' | 'paused' | 'uncounted' | 'nothing' | null {
  if (isCounting) return 'counting';
  if (isPaused(endpoint)) return 'paused';
  if (total === undefined) return 'uncounted';
  return total === 0 ? 'nothing' : null;
}

/** Whether an endpoint gets nothing now. undefined: every endpoint. */
export function isPaused(endpoint: Pick<Endpoint, 'status'> | undefined): boolean {
  return endpoint !== undefined && endpoint.status !== 'active';
}

/** The paused endpoints that keep failures back: the chosen one, or those that were counted. */
export function pausedIn<Known extends Pick<Endpoint, 'id' | 'status'>>(
  endpoints: readonly Known[],
  chosen: Known | undefined,
  counted: readonly { readonly endpoint_id: string }[],
): readonly Known[] {
  const among = chosen
    ? [chosen]
    : endpoints.filter(({ id }) => counted.some((one) => one.endpoint_id === id));
  return among.filter(isPaused);
}

/** When the list asks for them again: while one is running. */
export function looksAgainMs(
  resends: readonly Pick<Resend, 'state'>[] | undefined,
): number | false {
  return resends?.some(({ state }) => state === 'running') ? LOOK_EVERY_MS : false;
}
