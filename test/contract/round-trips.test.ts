// How often each operation waits for Postgres, counted on the wire. Behind a network, these waits are most of what a request takes.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase, type Database } from '../../src/db/client.ts';
import { createApp } from '../../src/http/server.ts';
import { ENDPOINTS, type Endpoint } from '../../src/routers/endpoints.ts';
import {
  createCall,
  startTestApi,
  TEST_APP_SECRET,
  type Call,
  type TestApi,
} from '../support/api.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { addDeliveries, teamOf, validRequest } from './requests.ts';
import { startRoundTripCounter, type RoundTripCounter } from './round-trip-counter.ts';

/** Round trips of one request, the one that authenticates and counts it included. */
interface RoundTrips {
  readonly plain: number;
  /** With an `Idempotency-Key` that is new. POST only, as the next one. */
  readonly keyed?: number;
  /** With one whose response is kept. */
  readonly replayed?: number;
}

/** Authentication and one statement. */
const READ_MAX = 2;

/**
 * Every operation has its row. A write is: authenticate; BEGIN with what decides; the changes with COMMIT. A new key adds one, which takes its lock and
 * looks for its record; a replay is that one and COMMIT.
 */
const ROUND_TRIPS: Readonly<Record<string, RoundTrips>> = {
  'me.get': { plain: 1 },
  'members.list': { plain: 2 },
  'members.create': { plain: 3, keyed: 4, replayed: 3 },
  'members.get': { plain: 2 },
  'members.update': { plain: 3 },
  'members.remove': { plain: 3 },
  'trainings.list': { plain: 2 },
  'trainings.get': { plain: 2 },
  'evaluations.list': { plain: 2 },
  'evaluations.get': { plain: 2 },
  'assignments.list': { plain: 2 },
  'assignments.create': { plain: 3, keyed: 4, replayed: 3 },
  'assignments.get': { plain: 2 },
  'assignments.update': { plain: 3 },
  'assignments.remove': { plain: 3 },
  'cases.list': { plain: 2 },
  'cases.create': { plain: 3, keyed: 4, replayed: 3 },
  'cases.get': { plain: 2 },
  'cases.update': { plain: 3 },
  'cases.remove': { plain: 3 },
  'catalog.get': { plain: 2 },
  'analytics.team': { plain: 2 },
  'crm.listDeals': { plain: 2 },
  'crm.listObjections': { plain: 2 },
  'webhooks.listEndpoints': { plain: 2 },
  // With a key its record is looked for before the host is resolved, so that a replay resolves nothing and needs no transaction.
  'webhooks.createEndpoint': { plain: 3, keyed: 5, replayed: 2 },
  'webhooks.updateEndpoint': { plain: 3 },
  'webhooks.removeEndpoint': { plain: 3 },
  'webhooks.testEndpoint': { plain: 3, keyed: 4, replayed: 3 },
  'webhooks.listDeliveries': { plain: 2 },
  'webhooks.retryDelivery': { plain: 3, keyed: 4, replayed: 3 },
};

let api: TestApi;
let counter: RoundTripCounter;
let db: Database;
let server: Server;
let call: Call;
const measured = new Map<string, RoundTrips>();

beforeAll(async () => {
  const teams = ENDPOINTS.flatMap((endpoint) =>
    ['warm', 'plain', 'keyed'].map((use) => makeFullTeam(teamFor(endpoint, use))),
  );
  api = await startTestApi({ seed: makeSeed(teams) });
  await addDeliveries(api.db);
  counter = await startRoundTripCounter(api.databaseUrl);
  // One connection: statements beside each other on two would be one wait, but they also hold two of the pool's connections.
  db = openDatabase({ url: counter.url, poolMax: 1, onError: () => undefined });
  server = createServer(
    createApp({
      db,
      logger: pino({ level: 'silent' }),
      publicUrl: 'http://127.0.0.1',
      services: {
        clock: systemClock,
        secrets: { current: TEST_APP_SECRET, previous: null },
        webhookAllowPrivateTargets: true,
      },
      limits: { keyPerMinute: 1_000_000, ipPerMinute: 1_000_000 },
      document: '{}',
      observe: () => undefined,
      trustProxy: { kind: 'none' },
      tokenKey: null,
      developmentTeamId: null,
      isReady: () => Promise.resolve(true),
    }),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  call = createCall(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterAll(async () => {
  if (process.env['ROUND_TRIPS_TABLE']) console.log(toMarkdown());
  server.closeAllConnections();
  server.close();
  await db.close();
  await counter.stop();
});

const teamFor = (endpoint: Endpoint, use: string): string => `${teamOf(endpoint)}-${use}`;

async function countOne(
  endpoint: Endpoint,
  team: string,
  idempotencyKey?: string,
): Promise<number> {
  const { method, path, body } = validRequest(endpoint, team);
  const before = counter.count();
  const answer = await call(api.key(`team_${team}`), method, path, {
    ...(body && { body }),
    ...(idempotencyKey && { headers: { 'idempotency-key': idempotencyKey } }),
  });
  expect({ status: answer.status, text: answer.text }).toMatchObject({
    status: endpoint.successStatus,
  });
  return counter.count() - before;
}

async function measure(endpoint: Endpoint): Promise<RoundTrips> {
  // The first use of a statement and of a code path is not what is measured.
  await countOne(endpoint, teamFor(endpoint, 'warm'));
  const plain = await countOne(endpoint, teamFor(endpoint, 'plain'));
  if (endpoint.method !== 'POST') return { plain };
  // Refused where the resource may be made once, which warms up the lock and the record all the same.
  await countOne(endpoint, teamFor(endpoint, 'warm'), 'warm').catch(() => undefined);
  const keyed = await countOne(endpoint, teamFor(endpoint, 'keyed'), 'once');
  const replayed = await countOne(endpoint, teamFor(endpoint, 'keyed'), 'once');
  return { plain, keyed, replayed };
}

describe.each(ENDPOINTS)('$method $path', (endpoint) => {
  it('waits for Postgres as often as its row says', async () => {
    const roundTrips = await measure(endpoint);
    measured.set(endpoint.name, roundTrips);
    expect(roundTrips, `ROUND_TRIPS of ${endpoint.name}`).toEqual(ROUND_TRIPS[endpoint.name]);
  });
});

it('has no read that waits more than twice', () => {
  const reads = ENDPOINTS.filter(({ method }) => method === 'GET');
  expect(reads.filter(({ name }) => (measured.get(name)?.plain ?? 0) > READ_MAX)).toEqual([]);
});

it('has no row of an operation that is gone', () => {
  const names = ENDPOINTS.map(({ name }) => name);
  expect(Object.keys(ROUND_TRIPS).filter((name) => !names.includes(name))).toEqual([]);
});

/** For ARCHITECTURE.md: `ROUND_TRIPS_TABLE=1 npm test -- test/contract/round-trips.test.ts`. */
function toMarkdown(): string {
  const rows = ENDPOINTS.map(({ name, method, path }) => {
    const { plain, keyed, replayed } = measured.get(name) ?? {};
    return `| \`${method} ${path}\` | ${[plain, keyed, replayed].map((figure) => figure ?? '–').join(' | ')} |`;
  });
  return [
    '| operation | round trips | with a new Idempotency-Key | replayed |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
