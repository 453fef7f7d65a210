// Each limit of the service counts what it refuses, with the team if that is known, and nothing
// else is counted: `api_refusals_total` shows which limit customers reach.
import { describe, expect, onTestFinished, test } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { BODY_MAX_BYTES } from '../../src/http/api/request-body.ts';
import { fixedClock } from '../../src/core/clock.ts';
import { LIMIT_NAMES, type Limit } from '../../src/core/limits.ts';
import { startTestApi, type TestApi, type TestApiOptions } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { openConnection, requestBytes, type RawConnection } from './raw-http.ts';

/** What was counted: a limit and the team. */
type Counted = readonly [limit: Limit, owner: string | null];

interface Case {
  readonly options?: Partial<TestApiOptions>;
  readonly team?: Parameters<typeof makeTeam>[1];
  /** Makes a request, or a connection, reach the limit. */
  readonly reach: (api: TestApi) => Promise<unknown>;
  /** What is counted, without repetitions. Only the limit itself and `team_a` by default. */
  readonly counted?: readonly Counted[];
}

const HOST = 'https://host.example';
const FAST = { checkEveryMs: 20 };
const PATIENT = { suspectEveryMs: 1_000_000 };
const GET_HEALTH = requestBytes('GET /healthz HTTP/1.1', []);
const TWICE = [1, 2];
const ADMIN = { kind: 'user', userId: userId('a', 'admin'), teamId: 'team_a' } as const;

const NOW = new Date();

const ask = async (api: TestApi) => (await api.call(api.key('team_a'), 'GET', '/me')).status;

async function askApp(api: TestApi): Promise<number> {
  const token = await tokenOf(ADMIN, NOW);
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${api.url}/trpc/v1.me.get?input=%7B%7D`, { headers })).status;
}

async function inTurn(work: () => Promise<number>): Promise<void> {
  const statuses: number[] = [];
  for (const _time of TWICE) statuses.push(await work());
  expect(statuses).toEqual([200, 429]);
}

function open(api: TestApi, count: number): RawConnection[] {
  const opened = Array.from({ length: count }, () => openConnection(api.port));
  onTestFinished(() => opened.forEach((connection) => connection.close()));
  return opened;
}

const openOne = (api: TestApi): RawConnection => open(api, 1)[0] as RawConnection;

/** A POST whose body has the length that the headers say, or comes in chunks. */
const post = (api: TestApi, length: string, body = ''): Buffer =>
  requestBytes(
    `POST ${BASE_PATH}/users HTTP/1.1`,
    [`Authorization: Bearer ${api.key('team_a')}`, 'Content-Type: application/json', length],
    body,
  );

/** Sends the bytes and resolves with the status of the answer. */
async function statusOf(api: TestApi, bytes: Buffer): Promise<number> {
  const connection = openOne(api);
  connection.send(bytes);
  return (await connection.answer()).status;
}

/** Reads of a locked table: four run or are slow, a hundred wait, and the others are refused. */
async function fillQueue(api: TestApi): Promise<void> {
  await ask(api);
  await holdLock(api, lockWhole('training'));
  const reads = Array.from({ length: 110 }, () => api.call(api.key('team_a'), 'GET', '/trainings'));
  const statuses = (await Promise.all(reads)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([503]));
}

async function flood(api: TestApi): Promise<void> {
  const client = openOne(api);
  client.send(Buffer.concat(Array.from({ length: 50 }, () => GET_HEALTH)));
  await client.ended().catch(() => undefined);
}

/** Rates are counted by the minute, and none must begin between two calls. */
const IN_ONE_MINUTE = { clock: fixedClock(NOW) };

/** By the limit that is reached, or the first of them. */
const CASES: Readonly<Partial<Record<Limit, Case>>> = {
  key_rate: {
    options: { ...IN_ONE_MINUTE, keyLimitPerMinute: 1 },
    reach: (api) => inTurn(() => ask(api)),
  },
  team_rate: {
    options: IN_ONE_MINUTE,
    team: { rate_limit_per_min: 1 },
    reach: (api) => inTurn(() => ask(api)),
  },
  person_rate: {
    options: { ...IN_ONE_MINUTE, personLimitPerMinute: 1 },
    reach: (api) => inTurn(() => askApp(api)),
  },
  address_rate: {
    options: { ...IN_ONE_MINUTE, ipLimitPerMinute: 1 },
    reach: async (api) => {
      const statuses: number[] = [];
      for (const _time of TWICE) statuses.push((await api.call(null, 'GET', '/me')).status);
      // Nobody waits for the body of a stranger who is over the limit: it may never come.
      for (const path of [`${BASE_PATH}/users`, '/trpc/v1.members.invite']) {
        const headers = ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 100'];
        const bytes = requestBytes(`POST ${path} HTTP/1.1`, headers, 'team_id=team_a');
        statuses.push(await statusOf(api, bytes));
      }
      expect(statuses).toEqual([401, 429, 429, 429]);
    },
    counted: [['address_rate', null]],
  },
  team_queue_length: {
    options: { connections: 110 },
    reach: fillQueue,
    counted: [
      ['team_queue_length', 'team_a'],
      ['team_queue_time', 'team_a'],
    ],
  },
  body_size: {
    options: { app: { adminHostOrigins: [HOST] } },
    reach: async (api) => {
      const large = 'x'.repeat(BODY_MAX_BYTES + 1);
      const chunk = `${large.length.toString(16)}\r\n${large}\r\n`;
      // The app: all calls of a team share its room for large bodies, so the owner is the team.
      const call = requestBytes('POST /trpc/v1.users.invite HTTP/1.1', [
        `Authorization: Bearer ${await tokenOf(ADMIN)}`,
        'Content-Type: application/json',
        `Content-Length: ${large.length}`,
      ]);
      const statuses = [
        await statusOf(api, post(api, `Content-Length: ${large.length}`)),
        await statusOf(api, post(api, 'Transfer-Encoding: chunked', chunk)),
        await statusOf(api, call),
      ];
      const link = await fetch(`${api.url}/trpc-session/link`, {
        method: 'POST',
        headers: { origin: HOST },
        body: new URLSearchParams({ token: 'x'.repeat(20_000) }),
        redirect: 'manual',
      });
      expect([...statuses, link.status]).toEqual([413, 413, 413, 413]);
    },
    counted: [
      ['body_size', 'team_a'],
      ['body_size', null],
    ],
  },
  body_speed: {
    reach: async (api) => {
      const body = JSON.stringify('x'.repeat(BODY_MAX_BYTES - 2));
      const bytes = post(api, `Content-Length: ${body.length}`, body);
      // One more than there is room for: one waits, and the others are in its way.
      const clients = open(api, 5);
      for (const client of clients) client.send(bytes.subarray(0, -1));
      expect((await Promise.any(clients.map((client) => client.answer()))).status).toBe(503);
    },
  },
  waiting_answers: {
    options: { connectionLimits: PATIENT },
    reach: async (api) => {
      const crowd = open(api, 240);
      for (const client of crowd) client.send(GET_HEALTH);
      await Promise.all(crowd.map((client) => client.answer()));
      // A large file, which costs as much as several answers.
      const request = requestBytes('GET /llms-full.txt HTTP/1.1', ['If-None-Match: *']);
      // More of them than a busy machine answers before the first ones need not wait any longer.
      for (const client of crowd)
        client.send(Buffer.concat(Array.from({ length: 8 }, () => request)));
    },
    counted: [['waiting_answers', null]],
  },
  header_size: {
    reach: async (api) => {
      const bytes = requestBytes('GET /healthz HTTP/1.1', [`X-Large: ${'x'.repeat(20_000)}`]);
      expect(await statusOf(api, bytes)).toBe(431);
    },
    counted: [['header_size', null]],
  },
  request_time: {
    options: { connectionLimits: { ...FAST, headersTimeoutMs: 200 } },
    reach: async (api) => expect((await openOne(api).answer()).status).toBe(408),
    counted: [['request_time', null]],
  },
  exchange_time: {
    options: { connectionLimits: { ...FAST, exchangeTimeoutMs: 200 } },
    reach: async (api) => {
      const client = openOne(api);
      client.send(post(api, 'Content-Length: 100', '{'));
      await client.ended();
    },
    counted: [['exchange_time', null]],
  },
  pipelined_requests: {
    options: { connectionLimits: { pipelinedMax: 3 } },
    reach: flood,
    counted: [['pipelined_requests', null]],
  },
  unread_bytes: {
    options: { connectionLimits: { unreadMaxBytes: 1 } },
    reach: async (api) => {
      const request = requestBytes(`GET ${BASE_PATH}/openapi.v1.json HTTP/1.1`, []);
      const client = openOne(api);
      client.send(Buffer.concat(Array.from({ length: 16 }, () => request)));
    },
    counted: [['unread_bytes', null]],
  },
  connections: {
    options: { connectionLimits: { openMax: 1 } },
    reach: async (api) => {
      const [first, second] = open(api, 2) as [RawConnection, RawConnection];
      await Promise.any([first.ended(), second.ended()]);
    },
    counted: [['connections', null]],
  },
  connection_rate: {
    options: { connectionLimits: { pipelinedMax: 3, ...PATIENT } },
    reach: async (api) => {
      await flood(api);
      await openOne(api).ended();
    },
    counted: [
      ['pipelined_requests', null],
      ['connection_rate', null],
    ],
  },
};

const REACHED = Object.entries(CASES).map(([name, one]) => ({
  name,
  ...one,
  counted: one.counted ?? ([[name as Limit, 'team_a']] satisfies Counted[]),
}));

describe('what a limit refuses is counted', () => {
  test.each(REACHED)('$name', async ({ options, team, reach, counted }) => {
    const seen = new Set<string>();
    const api = await startTestApi({
      seed: makeSeed([makeTeam('a', team)]),
      observeRefusal: (...refusal) => void seen.add(JSON.stringify(refusal)),
      ...options,
    });
    await reach(api);
    const expected = counted.map((refusal) => JSON.stringify(refusal)).toSorted();
    await until(() => Promise.resolve(seen.size >= expected.length));
    expect([...seen].toSorted()).toEqual(expected);
  });

  // The alert on an unavailable database leaves out what one team's limit refuses.
  test('where the request or the call is measured', async () => {
    const seen: unknown[] = [];
    const api = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      ...IN_ONE_MINUTE,
      keyLimitPerMinute: 1,
      personLimitPerMinute: 1,
      app: {
        observe: (...measured) => void seen.push(measured.slice(0, 2)),
        observeCall: (...measured) => void seen.push(measured.slice(0, 2)),
      },
    });
    await inTurn(() => ask(api));
    await inTurn(() => askApp(api));
    await until(() => seen.length >= 4);
    expect(seen).toEqual([
      ['GET /me', { status: 200, limit: null }],
      ['GET /me', { status: 429, limit: 'key_rate' }],
      ['v1.me.get', { status: 200, limit: null }],
      ['v1.me.get', { status: 429, limit: 'person_rate' }],
    ]);
  });

  test('of every limit', () => {
    const limits = REACHED.flatMap(({ counted }) => counted.map(([limit]) => limit));
    expect(new Set(limits)).toEqual(new Set(LIMIT_NAMES));
  });
});
