// oxlint-disable vitest/valid-expect -- the second argument says which endpoint failed
// Counts on the wire how often each endpoint waits for Postgres. With a network in between, these
// waits are most of the time that a request takes.
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { describe, afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { NOTHING_ENDS } from '../../src/core/deprecation.ts';
import { statement } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { isMigrated } from '../../src/db/operator/migrations.ts';
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
import { EXCEPTIONS, roundTripsOf, withRoundTrips, type RoundTrips } from './round-trips.ts';
import { openTestDatabase } from '../support/wire.ts';
import { wholePrisma } from '../support/whole-prisma.ts';

const ONE = statement<{ one: number }>('test.roundTrips.one', 'select 1 as one');
/** Authentication, and beside it one statement. */
const READ_MAX = 1;

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
  // One connection of each kind: a request may begin its read beside its authentication, but holds
  // no second connection of a kind.
  db = openTestDatabase({
    url: counter.url,
    poolMax: 1,
    // A slow statement is begun again, which is one more.
    quickStatementMs: 4_000,
  });
  // Opens the connection of each kind of work. A new one asks for the limits of its session.
  await isMigrated(db, []);
  await db.transaction(async () => {
    for (const teamId of ['a team', null])
      await wholePrisma(db.forCaller({ share: teamId })).$queryRaw`select 1`;
  });
  // On Citus each node has its own, as soon as the process knows where a team is.
  for (let round = 0; round < 2; round += 1)
    for (const endpoint of ENDPOINTS) {
      const share = `team_${teamFor(endpoint, 'warm')}`;
      for (const on of [db.forTeam(share), db.forCaller({ share })]) await on.query(ONE, []);
    }
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
      limits: { keyPerMinute: 1_000_000, personPerMinute: 1_000_000, ipPerMinute: 1_000_000 },
      document: '{}',
      deprecations: NOTHING_ENDS,
      observe: () => undefined,
      observeCall: () => undefined,
      observeRefusal: () => undefined,
      trustProxy: { kind: 'none' },
      tokenKey: null,
      developmentTeamId: null,
      whyNotReady: () => Promise.resolve(null),
      connections: { suspect: () => undefined, closeAfterLast: () => undefined },
    }),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  call = createCall(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await db.close();
  await counter.stop();
});

const teamFor = (endpoint: Endpoint, use: string): string => teamOf(endpoint, `-${use}`);

async function countOne(
  endpoint: Endpoint,
  team: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { method, path, body } = validRequest(endpoint, team);
  const before = counter.count();
  const answer = await call(api.key(`team_${team}`), method, path, {
    ...(body && { body }),
    headers,
  });
  expect({ status: answer.status, text: answer.text }).toMatchObject({
    status: endpoint.successStatus,
  });
  return counter.count() - before;
}

async function measure(endpoint: Endpoint): Promise<RoundTrips> {
  // Warm up: the first use of a statement takes more.
  await countOne(endpoint, teamFor(endpoint, 'warm'));
  const unknown = await countOne(endpoint, teamFor(endpoint, 'plain'));
  if (endpoint.method === 'GET')
    return { plain: await countOne(endpoint, teamFor(endpoint, 'plain')), unknown };
  const plain = unknown;
  if (endpoint.method !== 'POST') return { plain, conditional: await countConditional(endpoint) };
  // Some resources can only be created once. Even a refusal warms up the lock and the record.
  const [warm, once] = [{ 'idempotency-key': 'warm' }, { 'idempotency-key': 'once' }];
  await countOne(endpoint, teamFor(endpoint, 'warm'), warm).catch(() => undefined);
  const keyed = await countOne(endpoint, teamFor(endpoint, 'keyed'), once);
  const replayed = await countOne(endpoint, teamFor(endpoint, 'keyed'), once);
  return { plain, keyed, replayed };
}

/** Counts a change whose `If-Match` holds. */
async function countConditional(endpoint: Endpoint): Promise<number> {
  const team = teamFor(endpoint, 'keyed');
  const change = ENDPOINTS.find(({ method, path }) => method === 'PATCH' && path === endpoint.path);
  if (!change) throw new Error(`nothing tells the tag of ${endpoint.path}`);
  const { path, body } = validRequest(change, team);
  const send = (headers: Record<string, string>) =>
    call(api.key(`team_${team}`), 'PATCH', path, { body: body ?? {}, headers });
  const { headers } = await send({});
  // Warms up the read under the lock.
  await send({ 'if-match': '"another"' });
  return countOne(endpoint, team, { 'if-match': headers['etag'] ?? '' });
}

describe.each(ENDPOINTS)('$method $path', (endpoint) => {
  it('waits for Postgres as often as declared', async () => {
    const roundTrips = await measure(endpoint);
    measured.set(endpoint.name, roundTrips);
    expect(roundTrips, endpoint.name).toEqual(roundTripsOf(endpoint));
  });
});

it('does not wait more often for a batch of 100 than for one of 1', async () => {
  const endpoint = ENDPOINTS.find(({ name }) => name === 'assignments.createBatch');
  if (!endpoint) throw new Error('there is no batch');
  const { path, body } = validRequest(endpoint, teamFor(endpoint, 'plain'));
  const [entry] = (body?.['assignments'] ?? []) as unknown[];
  const count = async (length: number) => {
    const before = counter.count();
    const answer = await call(api.key(`team_${teamFor(endpoint, 'plain')}`), 'POST', path, {
      body: { assignments: Array.from({ length }, () => entry) },
    });
    expect(answer.body).toMatchObject({ created: length });
    return counter.count() - before;
  };
  expect([await count(1), await count(100)]).toEqual([3, 3]);
});

it('has no read of a known key that waits more than once', () => {
  const reads = ENDPOINTS.filter(({ method }) => method === 'GET');
  expect(reads.filter(({ name }) => (measured.get(name)?.plain ?? 0) > READ_MAX)).toEqual([]);
});

it('has no exception for an operation that is gone', () => {
  const names = ENDPOINTS.map(({ name }) => name);
  expect(Object.keys(EXCEPTIONS).filter((name) => !names.includes(name))).toEqual([]);
});

it('is shown in src/http/api/README.md as declared (else: npm run round-trips)', async () => {
  const text = await readFile(new URL('../../src/http/api/README.md', import.meta.url), 'utf8');
  expect(text).toBe(withRoundTrips(text));
});
