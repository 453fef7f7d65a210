// Postgres commits a claim, and the connection breaks before the worker gets the answer.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { stillClock } from '../support/clocks.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { held, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
/** How the answer to a committed statement ends. */
const COMMITTED = Buffer.from('Z\0\0\0\x05I', 'latin1');

let api: TestApi;
let client: Client;
let receiver: Receiver;
let proxy: Proxy;
let deliveries: Deliveries;

beforeAll(async () => {
  receiver = await startReceiver();
});

beforeEach(async () => {
  receiver.reset();
  const webhook_endpoints = ['one', 'other'].map(makeEndpoint);
  api = await startTestApi({ seed: makeSeed([makeTeam('a', { webhook_endpoints })]) });
  client = new Client({ connectionString: api.databaseUrl });
  await client.connect();
});

afterEach(async () => {
  receiver.reset();
  await deliveries.stop();
  await proxy.close();
  await client.end();
  await api.stop();
});

const makeEndpoint = (name: string) => ({
  id: `whe_${name}`,
  url: `${receiver.url}/${name}`,
  events: ['member.joined' as const],
});

interface Proxy {
  /** Returns the URL of the same database through this proxy. */
  readonly route: (url: string) => string;
  /** How many answers were lost. */
  lost(): number;
  close(): Promise<void>;
}

/**
 * A proxy between the worker and the run's servers. It drops the answer to the first request with
 * these bytes in it, and breaks the connection once the server has committed.
 */
async function startProxy(request: string): Promise<Proxy> {
  let state: 'waits' | 'swallows' | 'done' = 'waits';
  const sockets = new Set<Socket>();
  const pass = (worker: Socket, postgres: Socket): void => {
    for (const [socket, peer] of [
      [worker, postgres],
      [postgres, worker],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => peer.destroy());
    }
    let swallowed: Buffer | null = null;
    worker.on('data', (chunk) => {
      if (state === 'waits' && chunk.includes(request)) {
        state = 'swallows';
        swallowed = Buffer.alloc(0);
      }
      postgres.write(chunk);
    });
    postgres.on('data', (chunk) => {
      if (swallowed === null) return worker.write(chunk);
      swallowed = Buffer.concat([swallowed, chunk]);
      if (!swallowed.subarray(-COMMITTED.length).equals(COMMITTED)) return;
      state = 'done';
      worker.destroy();
    });
  };
  const servers = new Map<string, Server>();
  for (const url of [inject('testServerUrl'), ...inject('testWorkerUrls')]) {
    const { hostname, port } = new URL(url);
    const server = createServer((worker) => pass(worker, connect(Number(port), hostname)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.set(port, server);
  }
  return {
    route: (text) => {
      const url = new URL(text);
      const server = servers.get(url.port);
      if (!server) throw new Error('no server of the run has this port');
      const { port } = server.address() as AddressInfo;
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
    lost: () => (state === 'done' ? 1 : 0),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const server of servers.values()) await new Promise((done) => server.close(done));
    },
  };
}

/** Starts a delivery loop that loses the answer to its first request with these bytes in it. */
async function startLosing(request: string): Promise<void> {
  proxy = await startProxy(request);
  const { route } = proxy;
  // Without ticks of its own: no later one finds a lost claim, and no claim becomes too old.
  const clock = { ...stillClock(NOW), every: () => () => undefined };
  deliveries = await startDeliveries(api, { clock, route });
  // Every tenth tick, beginning with the first, looks for lost claims anyway. This one does not.
  deliveries.tick();
}

async function writeEvents(count: number, isFannedOut: boolean): Promise<void> {
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_a', 'evt_' || i, 'member.joined', '{}', $3::timestamptz,
       case when $2 then now() end
     from generate_series(1, $1::int) i`,
    [count, isFannedOut, NOW],
  );
}

/** Writes a due delivery of each event to the endpoint. */
async function writeDeliveries(
  name: string,
  fields: { attempt: number; urgent: boolean },
): Promise<void> {
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, scheduled_attempts,
        urgent, created_at, next_try_at)
     select team_id, replace(id, 'evt', 'whd') || $1, 'whe_' || $1, id, type,
       case when $2::int = 0 then 'pending' else 'retrying' end, $2, $2, $3, $4, $4 from event`,
    [name, fields.attempt, fields.urgent, NOW],
  );
}

const count = async (where: string): Promise<number> =>
  (await client.query(`select from webhook_delivery where ${where}`)).rowCount ?? 0;

const arrivals = (path: string): string[] =>
  receiver
    .requestsTo(path)
    .map(({ headers }) => String(headers['svc-event-id']))
    .toSorted();

const allDone = (deliveries: number) =>
  until(async () => (await count(`status = 'ok'`)) === deliveries);

test.each([
  ['first attempts', 'webhooks.claimPending', { attempt: 0, urgent: false }],
  ['retries', 'webhooks.claimRetrying', { attempt: 1, urgent: false }],
  ['requested attempts', 'webhooks.claimRequested', { attempt: 1, urgent: true }],
])(
  'the worker notices a lost claim of %s, and makes each attempt once',
  async (_what, name, fields) => {
    await writeEvents(3, true);
    await writeDeliveries('one', fields);
    await startLosing(name);
    await allDone(3);
    expect(proxy.lost()).toBe(1);
    expect(arrivals('/one')).toEqual(['evt_1', 'evt_2', 'evt_3']);
  },
);

test('the worker notices a lost fan-out, which claims too, and sends each event once', async () => {
  await writeEvents(3, false);
  await startLosing('webhooks.insertDeliveries');
  await allDone(6);
  expect(proxy.lost()).toBe(1);
  for (const path of ['/one', '/other'])
    expect(arrivals(path)).toEqual(['evt_1', 'evt_2', 'evt_3']);
});

test('other claimed deliveries, in flight or waiting, are attempted once', async () => {
  const gate = held(status(200));
  receiver.on('/one', gate.behaviour);
  await writeEvents(3, true);
  await writeDeliveries('one', { attempt: 1, urgent: true });
  await writeDeliveries('other', { attempt: 0, urgent: false });
  // By then the first endpoint has one attempt in flight, and two deliveries that wait for it.
  await startLosing('webhooks.claimPending');
  await receiver.arrived('/other', 3);
  expect(proxy.lost()).toBe(1);
  expect(arrivals('/one')).toHaveLength(1);
  gate.open();
  await allDone(6);
  for (const path of ['/one', '/other'])
    expect(arrivals(path)).toEqual(['evt_1', 'evt_2', 'evt_3']);
});
