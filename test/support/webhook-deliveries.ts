// Webhook endpoints at a receiver, and the delivery loop that sends to them, on the test's clock.
// Each test has a team of its own, so events of other tests never reach its endpoints.
import { beforeAll, beforeEach } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type ApiResponse, type CallOptions, type TestApi } from './api.ts';
import { RETRY_DELAYS_S, startDeliveries, type Deliveries } from './deliveries.ts';
import { startReceiver, status, type Behaviour, type Received, type Receiver } from './receiver.ts';
import { makeFullTeam, makeSeed } from './seed.ts';
import { until } from './until.ts';

/** At least as many as a file has tests. */
const TEAMS = 50;

/** A webhook endpoint, as a test that created it knows it. */
export interface Endpoint {
  readonly id: string;
  readonly secret: string;
  /** The path at the receiver. */
  readonly path: string;
  readonly team: string;
}

/** A delivery as the API shows it. */
export interface Delivery {
  readonly id: string;
  readonly attempt: number;
  readonly status: string;
  readonly event_type: string;
  readonly next_try_at: string | null;
  readonly [field: string]: unknown;
}

const START = new Date('2026-11-02T09:00:00.000Z');
export const clock = fixedClock(START);
export let api: TestApi;
export let receiver: Receiver;
export let deliveries: Deliveries;
/** The id of the running test's team. */
export let team = '';

/** An endpoint that always fails, of a team that no test has. */
let control: Endpoint;

/** Starts the API, the receiver and the loop before the tests of this file. */
export function useWebhookDeliveries(): void {
  let next = 0;
  beforeAll(async () => {
    // The file before may have left it at another time.
    clock.set(START);
    const names = Array.from({ length: TEAMS }, (_, index) => `t${index}`);
    const teams = [...names, 'foreign', 'control'].map((name) =>
      makeFullTeam(name, { webhook_endpoints: [] }),
    );
    receiver = await startReceiver();
    api = await startTestApi({ seed: makeSeed(teams), clock, allowPrivateTargets: true });
    deliveries = await startDeliveries(api, { clock });
    control = await createEndpoint(status(500), { team: 'team_control' });
  });
  beforeEach(() => {
    team = `team_t${next}`;
    next += 1;
  });
}

/** Calls the API with a key of the test's team, or of another one. */
export const call = (
  method: string,
  path: string,
  options: CallOptions = {},
  of = team,
): Promise<ApiResponse> => api.call(api.key(of), method, path, options);

/** Runs a statement and resolves with its rows. */
export const query = async (
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> => (await api.db.pool.query(sql, values)).rows;

let names = 0;

/** Creates an endpoint at the receiver, which responds with 200 and gets `member.joined`. */
export async function createEndpoint(
  behaviour: Behaviour = status(200, 'ok'),
  options: { readonly team?: string; readonly events?: string[] } = {},
): Promise<Endpoint> {
  const of = options.team ?? team;
  const path = `/hook${(names += 1)}`;
  receiver.on(path, behaviour);
  const body = { url: receiver.url + path, events: options.events ?? ['member.joined'] };
  const created = await call('POST', '/webhook-endpoints', { body }, of);
  return { id: created.body.id, secret: created.body.secret, path, team: of };
}

/** Raises `member.joined`, by inviting somebody. */
export const raise = (of = team): Promise<ApiResponse> =>
  call('POST', '/users', { body: { email: `someone${(names += 1)}@example.test` } }, of);

/** Asks for a test event. */
export const ping = (endpoint: Endpoint, options: CallOptions = {}): Promise<ApiResponse> =>
  call('POST', `/webhook-endpoints/${endpoint.id}/test`, options, endpoint.team);

/** Asks for an immediate attempt. */
export const retry = (delivery: Delivery, options: CallOptions = {}): Promise<ApiResponse> =>
  call('POST', `/webhook-deliveries/${delivery.id}/retry`, options);

/** Returns the endpoint's deliveries, newest first. */
export async function listDeliveries({ id, team: of }: Endpoint): Promise<Delivery[]> {
  return (await call('GET', `/webhook-endpoints/${id}/deliveries?limit=200`, {}, of)).body.data;
}

/** Resolves with the endpoint's newest delivery after at least so many attempts are recorded. */
export const attempted = (endpoint: Endpoint, attempt = 1): Promise<Delivery> =>
  until(async () => {
    const [newest] = await listDeliveries(endpoint);
    return newest && newest.attempt >= attempt ? newest : null;
  });

/**
 * Raises an event, and advances the clock until its delivery has had so many attempts. The endpoint
 * must fail all of them but the last.
 */
export async function failed(endpoint: Endpoint, attempts: number): Promise<Delivery> {
  await raise();
  let delivery = await attempted(endpoint);
  for (const delayS of RETRY_DELAYS_S.slice(0, attempts - 1)) {
    clock.advance(delayS * 1000);
    delivery = await attempted(endpoint, delivery.attempt + 1);
  }
  return delivery;
}

/**
 * Resolves when the loop has looked for what is due now and attempted the control endpoint's
 * delivery, twice. A delivery that was not attempted by then is not due.
 */
export async function everythingDueIsAttempted(): Promise<void> {
  if ((await listDeliveries(control)).length === 0) await raise(control.team);
  const { attempt } = await attempted(control);
  for (const more of [1, 2]) {
    await query(
      `update webhook_delivery
       set status = 'retrying', next_try_at = $1, urgent = false
       where team_id = $2`,
      [clock.now(), control.team],
    );
    await attempted(control, attempt + more);
  }
}

/** Returns the JSON in the body of a request; null without a request. */
export const json = (request: Received | undefined) =>
  JSON.parse(request?.body.toString() ?? 'null');
