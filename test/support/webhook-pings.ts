// Pings to receivers that behave as a test says, and the delivery that each ping ends as.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { beforeAll, onTestFinished } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from './api.ts';
import { steppedClock } from './clocks.ts';
import { startDeliveries, type Deliveries, type DeliveriesOptions } from './deliveries.ts';
import { startReceiver, type Behaviour, type Receiver } from './receiver.ts';
import { makeSeed, makeTeam } from './seed.ts';
import { until } from './until.ts';

/** Webhook endpoints are spread over these teams, because a team may have only 50. */
const TEAMS = 4;

/** A webhook endpoint, with a key of its team. */
export interface Endpoint {
  readonly id: string;
  readonly key: string;
}

/** A delivery as the API shows it. */
export interface Row {
  readonly id: string;
  readonly attempt: number;
  readonly status: string;
  readonly response_code: number | null;
  readonly response_excerpt: string | null;
  readonly response_ms: number;
  readonly error: string | null;
}

/** A successful first attempt. */
export const OK = { status: 'ok', attempt: 1, error: null };
/** A failed first attempt. */
export const FAILED = { status: 'retrying', attempt: 1 };
/** Makes a first attempt that failed with this error, without a response. */
export const failed = (error: string) => ({
  ...FAILED,
  error,
  response_code: null,
  response_excerpt: null,
});

const START = new Date('2026-11-02T09:00:00.000Z');
export const clock = fixedClock(START);
/** The receiver of `pingTo`. */
export let receiver: Receiver;
let api: TestApi;
let deliveries: Deliveries;

/** Starts the API, the delivery loop and the receiver before the tests of this file. */
export function useWebhookPings(): void {
  beforeAll(async () => {
    // The file before may have left it at another time.
    clock.set(START);
    receiver = await startReceiver();
    const teams = Array.from({ length: TEAMS }, (_, index) => makeTeam(`t${index}`));
    api = await startTestApi({ seed: makeSeed(teams), clock, allowPrivateTargets: true });
    deliveries = await start();
  });
}

/**
 * Gives the tests of the surrounding group a loop whose attempts end when the returned clock has
 * advanced by so much.
 */
export function useTimeout(
  timeoutMs: number,
  lookup: DeliveriesOptions['lookup'] = findThisMachine,
): ReturnType<typeof steppedClock> {
  const senderClock = steppedClock(clock.now());
  beforeAll(async () => {
    await deliveries.stop();
    deliveries = await start({ timeoutMs, senderClock, lookup });
    return async () => {
      await deliveries.stop();
      deliveries = await start();
    };
  });
  return senderClock;
}

/** Every name resolves to this machine. */
export const findThisMachine = async () => [{ address: '127.0.0.1', family: 4 }];

const start = (options: Partial<DeliveriesOptions> = {}): Promise<Deliveries> =>
  startDeliveries(api, { clock, lookup: findThisMachine, ...options });

/** Returns the errors that the loop logged. */
export const loggedErrors = (): string[] => deliveries.errors();

let endpoints = 0;
/** Creates a webhook endpoint that gets no events but pings. */
export async function createEndpoint(url: string): Promise<Endpoint> {
  const key = api.key(`team_t${(endpoints += 1) % TEAMS}`);
  const headers = { 'idempotency-key': randomUUID() };
  const options = { headers, body: { url, events: ['crm.sync.failed'] } };
  const id = await until(async () => {
    const { status, body } = await api.call(key, 'POST', '/webhook-endpoints', options);
    return status === 503 ? null : (body.id as string);
  });
  return { id, key };
}

/** Sends a ping, and resolves with its delivery after the first attempt. */
export async function ping(endpoint: Endpoint): Promise<Row> {
  const [row] = await pings(endpoint, 1);
  if (!row) throw new Error('the ping has no delivery');
  return row;
}

/** Sends pings at once, and resolves with their deliveries after the first attempt of each. */
export async function pings({ id, key }: Endpoint, count: number): Promise<Row[]> {
  const path = `/webhook-endpoints/${id}`;
  // A database that is slow for a moment, as on a busy machine, makes a 503: it is asked again.
  const send = (): Promise<string> => {
    const headers = { 'idempotency-key': randomUUID() };
    return until(async () => {
      const { status, body } = await api.call(key, 'POST', `${path}/test`, { headers });
      return status === 503 ? null : (body.delivery_id as string);
    });
  };
  const ids = await Promise.all(Array.from({ length: count }, send));
  return until(async () => {
    const { status, body } = await api.call(key, 'GET', `${path}/deliveries?limit=200`);
    const attempted: Row[] = status === 200 ? body.data.filter((row: Row) => row.attempt > 0) : [];
    const rows = attempted.filter((row) => ids.includes(row.id));
    return rows.length === count ? rows : null;
  });
}

let paths = 0;
/** Sends a ping to a path of the receiver that responds like this. */
export async function pingTo(behaviour: Behaviour): Promise<{ row: Row }> {
  const path = `/hook${(paths += 1)}`;
  receiver.on(path, behaviour);
  return { row: await ping(await createEndpoint(receiver.url + path)) };
}

/** Sends a ping to a new receiver, so that no kept connection is used. */
export async function pingToNew(behaviour: Behaviour): Promise<{ row: Row; requests: number }> {
  const own = await startReceiver();
  own.on('/', behaviour);
  const row = await ping(await createEndpoint(own.url));
  return { row, requests: own.requests.length };
}

/** Starts a TCP server that does this with each connection. It is closed when the test ends. */
export async function startRaw(
  onSocket: (socket: Socket) => unknown,
): Promise<{ port: number; connections(): number; close(): Promise<void> }> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((done) => server.close(done));
  };
  onTestFinished(close);
  return { port, connections: () => connections, close };
}
