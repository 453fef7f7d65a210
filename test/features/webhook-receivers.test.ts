// What receivers do to a sender, on purpose or not. Each attempt ends in time, and in a row that tells what happened.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import * as certificates from '../support/certificates.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import {
  hang,
  inTurn,
  raw,
  startReceiver,
  status,
  type Behaviour,
  type Receiver,
} from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** For receivers that take their time; all others have more than they need. */
const TIMEOUT_MS = 600;
/** What a machine that is busy with other tests may take longer: anything but for ever. */
const SLACK_MS = 15_000;
/** A team may have 50 endpoints. */
const TEAMS = 4;
const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));

let api: TestApi;
let receiver: Receiver;
let deliveries: Deliveries;

beforeAll(async () => {
  receiver = await startReceiver();
  ({ api, deliveries } = await start(25_000));
});

async function start(timeoutMs: number): Promise<{ api: TestApi; deliveries: Deliveries }> {
  const teams = Array.from({ length: TEAMS }, (_, index) => makeTeam(`t${index}`));
  const started = await startTestApi({ seed: makeSeed(teams), clock, allowPrivateTargets: true });
  // Names of tests are all this machine.
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
  return { api: started, deliveries: await startDeliveries(started, { clock, lookup, timeoutMs }) };
}

interface Endpoint {
  readonly id: string;
  readonly key: string;
}

interface Row {
  readonly id: string;
  readonly attempt: number;
  readonly status: string;
  readonly response_code: number | null;
  readonly response_excerpt: string | null;
  readonly response_ms: number;
  readonly error: string | null;
}

let endpoints = 0;
async function createEndpoint(url: string): Promise<Endpoint> {
  const key = api.key(`team_t${(endpoints += 1) % TEAMS}`);
  const created = await api.call(key, 'POST', '/webhook-endpoints', {
    body: { url, events: ['crm.sync.failed'] },
  });
  return { id: created.body.id, key };
}

/** Sends a ping, and answers with the row that it ends in. */
async function ping({ id, key }: Endpoint): Promise<Row> {
  const { delivery_id } = (await api.call(key, 'POST', `/webhook-endpoints/${id}/test`)).body;
  return until(async () => {
    const { data } = (await api.call(key, 'GET', `/webhook-endpoints/${id}/deliveries?limit=200`))
      .body;
    return data.find((row: Row) => row.id === delivery_id && row.attempt > 0);
  });
}

let paths = 0;
async function pingTo(behaviour: Behaviour): Promise<{ row: Row }> {
  const path = `/hook${(paths += 1)}`;
  receiver.on(path, behaviour);
  return { row: await ping(await createEndpoint(receiver.url + path)) };
}

/** As `pingTo`, at a receiver of its own, to which no connection is kept yet. */
async function pingToNew(behaviour: Behaviour): Promise<{ row: Row; requests: number }> {
  const own = await startReceiver();
  own.on('/', behaviour);
  const row = await ping(await createEndpoint(own.url));
  return { row, requests: own.requests.length };
}

const OK = { status: 'ok', attempt: 1, error: null };
const FAILED = { status: 'retrying', attempt: 1 };
const failed = (error: string) => ({
  ...FAILED,
  error,
  response_code: null,
  response_excerpt: null,
});

/** Writes the text again and again, slowly, as long as anybody listens. */
const drip =
  (head: string, drop: string): Behaviour =>
  async (_response, _request, socket) => {
    socket.write(head);
    while (!socket.destroyed) {
      socket.write(drop);
      await delay(50);
    }
  };

describe('a receiver that takes its time ends in a timeout, on time, when it', () => {
  beforeAll(async () => {
    const patient = api;
    const impatient = await start(TIMEOUT_MS);
    api = impatient.api;
    return async () => {
      api = patient;
      await impatient.deliveries.stop();
      await impatient.api.stop();
    };
  });

  test.each<[string, Behaviour]>([
    ['takes the request and answers nothing', hang],
    ['sends its headers one by one', drip('HTTP/1.1 200 OK\r\n', 'X-More: 1\r\n')],
    ['sends its headers letter by letter', drip('HTTP/1.1 200 OK\r\nX-More: ', 'x')],
    [
      'sends its body letter by letter',
      drip('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n', 'x'),
    ],
    [
      'sends its body in chunks of a letter',
      drip('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n'),
    ],
    ['promises more than it sends', raw('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nsome')],
    ['goes on to announce an answer', drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
  ])('%s', async (_what, behaviour) => {
    const { row } = await pingTo(behaviour);
    expect(row).toMatchObject(failed('timeout'));
    expect(row.response_ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 5);
    expect(row.response_ms).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  });

  test('takes connections and nothing more', async () => {
    const server = await startRaw(() => undefined);
    expect(await ping(await createEndpoint(`https://receiver.test:${server.port}/`))).toMatchObject(
      failed('timeout'),
    );
  });

  test('has a name that nobody resolves', async () => {
    const own = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      clock,
      allowPrivateTargets: true,
    });
    const stopped = await startDeliveries(own, {
      clock,
      lookup: () => new Promise(() => undefined),
      timeoutMs: TIMEOUT_MS,
    });
    const key = own.key('team_a');
    const body = { url: 'https://slow.test/', events: ['crm.sync.failed'] };
    const { id } = (await own.call(key, 'POST', '/webhook-endpoints', { body })).body;
    await own.call(key, 'POST', `/webhook-endpoints/${id}/test`);
    const row = await until(async () =>
      (await own.call(key, 'GET', `/webhook-endpoints/${id}/deliveries`)).body.data.find(
        (each: Row) => each.attempt > 0,
      ),
    );
    expect(row).toMatchObject(failed('timeout'));
    await stopped.stop();
    await own.stop();
  });
});

describe('a receiver that says too much', () => {
  const CHUNK = Buffer.alloc(64 * 1024, 'x');
  const SIZE = 500 * 1024 * 1024;
  /** 500 MB, as fast as they are taken. `sent` is how much the sender's machine took, its buffers included. */
  const flood = (headers: Record<string, string>): { behaviour: Behaviour; sent: () => number } => {
    let sent = 0;
    const behaviour: Behaviour = async (response, _request, socket) => {
      response.writeHead(200, headers);
      const before = socket.bytesWritten;
      const gone = once(response, 'close');
      for (let size = 0; size < SIZE && !socket.destroyed; size += CHUNK.length) {
        if (!response.write(CHUNK))
          await Promise.race([new Promise((done) => response.once('drain', done)), gone]);
        sent = socket.bytesWritten - before;
      }
      response.end();
    };
    return { behaviour, sent: () => sent };
  };

  test.each([
    ['with its length', { 'content-length': String(SIZE) }],
    ['in chunks', {}],
  ])(
    '500 MB %s: reading stops after what is kept, and memory stays flat',
    async (_how, headers) => {
      const { behaviour, sent } = flood(headers);
      await pingTo(behaviour);
      globalThis.gc?.();
      const before = process.memoryUsage();
      for (let n = 0; n < 5; n += 1) {
        const { row } = await pingTo(behaviour);
        expect(row).toMatchObject({
          ...OK,
          response_code: 200,
          response_excerpt: 'x'.repeat(1000),
        });
        // What fits into the buffers of two sockets, far from all of it.
        expect(sent()).toBeLessThan(20 * 1024 * 1024);
      }
      const after = process.memoryUsage();
      expect(after.rss - before.rss).toBeLessThan(150 * 1024 * 1024);
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(50 * 1024 * 1024);
    },
  );

  test.each([
    ['one header of 64 KB', `HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(64 * 1024)}\r\n\r\n`],
    ['a thousand headers', `HTTP/1.1 200 OK\r\n${'X-Many: 0123456789abcdef\r\n'.repeat(1000)}\r\n`],
  ])('%s', async (_what, text) => {
    expect((await pingTo(raw(text))).row).toMatchObject(failed('response_headers_too_large'));
  });

  test.each<[string, Buffer | string, string]>([
    ['more than 1000 characters are cut', 'é'.repeat(1500), 'é'.repeat(1000)],
    ['exactly 1000 characters are kept', 'é'.repeat(1000), 'é'.repeat(1000)],
    ['an emoji is one character, and none is cut in half', '🎯'.repeat(1500), '🎯'.repeat(1000)],
    ['nor after a letter of one byte', `a${'🎯'.repeat(1500)}`, `a${'🎯'.repeat(999)}`],
    ['nor after a byte order mark', `\uFEFF${'🎯'.repeat(1500)}`, '🎯'.repeat(1000)],
    ['a NUL, which Postgres cannot store, is replaced', 'a\0b', 'a\uFFFDb'],
    [
      'invalid UTF-8 is replaced',
      Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62]),
      'a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFDb',
    ],
    [
      'a thousand invalid bytes are a thousand characters',
      Buffer.alloc(5000, 0xff),
      '\uFFFD'.repeat(1000),
    ],
  ])('of the body, %s', async (_what, body, excerpt) => {
    const { row } = await pingTo(status(500, body));
    expect(row).toMatchObject({ ...FAILED, response_code: 500, error: null });
    expect(row.response_excerpt).toBe(excerpt);
  });
});

describe('a receiver that says little', () => {
  test.each<[string, Behaviour, number]>([
    ['204 without a body', status(204), 204],
    ['200 with an empty body', status(200, ''), 200],
    [
      'an answer of HTTP/1.0, which ends with the connection',
      (_r, _q, socket) => socket.end('HTTP/1.0 200 OK\r\n\r\n'),
      200,
    ],
    [
      'early hints, then 202',
      raw(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n',
      ),
      202,
    ],
  ])('%s', async (_what, behaviour, code) => {
    expect((await pingTo(behaviour)).row).toMatchObject({
      ...OK,
      response_code: code,
      response_excerpt: '',
    });
  });
});

describe('a receiver that speaks no HTTP', () => {
  test.each([
    'hello\r\n\r\n',
    'HTTP/9.9 999 Whatever\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nNo colon\r\n\r\n',
    'HTTP/1.1 2OO OK\r\n\r\n',
    '\0\0\0\0',
  ])('answers %j', async (text) => {
    expect((await pingTo(raw(text))).row).toMatchObject(failed('invalid_response'));
  });

  test('breaks off its chunks', async () => {
    const { row } = await pingTo(
      raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
    );
    expect(row).toMatchObject(failed('invalid_response'));
  });

  test('greets before it is asked', async () => {
    const server = await startRaw((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'));
    const row = await ping(await createEndpoint(`http://receiver.test:${server.port}/`));
    expect(row).toMatchObject({ ...FAILED, response_code: null });
    expect(['invalid_response', 'connection_closed']).toContain(row.error);
  });

  test.each([
    ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [
      '101',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    ],
  ])('answers %s, which nobody asked for', async (_code, text) => {
    expect((await pingTo(raw(text))).row).toMatchObject({ ...FAILED, response_code: null });
  });
});

describe('an informational response is no answer', () => {
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nRetry-After: 7200\r\n\r\n';
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const finish = (text: string): Behaviour => raw(`${text}Content-Length: 4\r\n\r\nbody`);

  test.each([
    ['early hints', HINTS],
    ['early hints, twice', HINTS + HINTS],
    ['nothing but "processing"', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['"continue"', CONTINUE],
    ['early hints and "continue"', HINTS + CONTINUE],
    ['early hints and half a status', `${HINTS}HTTP/1.1 20`],
  ])('%s, and then the end of the connection: a failed attempt', async (_what, text) => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.end(text));
    expect(row).toMatchObject({ ...FAILED, response_code: null, response_excerpt: null });
    expect(row.error).toMatch(/^(connection_closed|invalid_response)$/);
    expect(requests).toBe(1);
  });

  test('what comes after it is: 200 is a success, with its body', async () => {
    const { row } = await pingToNew(finish(`${HINTS}HTTP/1.1 200 OK\r\n`));
    expect(row).toMatchObject({ ...OK, response_code: 200, response_excerpt: 'body' });
  });

  test.each([500, 503])('what comes after it is: %i is a failure', async (code) => {
    const { row } = await pingToNew(finish(`${HINTS}HTTP/1.1 ${code} No\r\n`));
    expect(row).toMatchObject({
      ...FAILED,
      response_code: code,
      response_excerpt: 'body',
      error: null,
      // The wait that the early hints asked for is none of the answer's.
      next_try_at: '2026-11-02T09:01:00.000Z',
    });
  });

  test('on a kept connection that then closes: the request is made once more, on a new one', async () => {
    const own = await startReceiver();
    const close: Behaviour = (_response, _request, socket) => socket.end(HINTS);
    own.on('/', inTurn(status(200), close, status(204), close));
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject({ ...OK, response_code: 204 });
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    expect(await ping(endpoint)).toMatchObject(failed('connection_closed'));
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1, 2, 2, 3]);
  });
});

describe('a receiver that breaks the connection', () => {
  test('before it answers: one request, one failed attempt', async () => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.destroy());
    expect(row).toMatchObject(failed('connection_closed'));
    expect(requests).toBe(1);
  });

  test('with a reset', async () => {
    expect(
      (await pingTo((_response, _request, socket) => socket.resetAndDestroy())).row,
    ).toMatchObject(failed('connection_closed'));
  });

  test('as soon as it is made', async () => {
    const server = await startRaw((socket) => socket.destroy());
    expect(await ping(await createEndpoint(`http://receiver.test:${server.port}/`))).toMatchObject(
      failed('connection_closed'),
    );
    expect(server.connections()).toBe(1);
  });

  test.each([
    ['in the middle of its headers', 'HTTP/1.1 200 OK\r\nX-Half: '],
    ['in the middle of its body', 'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nsome'],
    ['in the middle of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe'],
  ])('%s', async (_when, text) => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.end(text));
    expect(row).toMatchObject(failed('connection_closed'));
    expect(requests).toBe(1);
  });

  test('or takes none at all', async () => {
    const server = await startRaw(() => undefined);
    await server.close();
    expect(await ping(await createEndpoint(`http://receiver.test:${server.port}/`))).toMatchObject(
      failed('connection_refused'),
    );
  });
});

describe('a connection that is kept', () => {
  test('is used again', async () => {
    const own = await startReceiver();
    const endpoint = await createEndpoint(own.url);
    for (let n = 0; n < 5; n += 1) expect(await ping(endpoint)).toMatchObject(OK);
    expect(own.connections()).toBe(1);
  });

  test('and closed by the receiver after each answer, without a word, is no failure', async () => {
    const own = await startReceiver();
    own.on('/', (response, _request, socket) => response.end('ok', () => socket.end()));
    const endpoint = await createEndpoint(own.url);
    const rows = await Promise.all(Array.from({ length: 30 }, () => ping(endpoint)));
    for (const row of rows) expect(row).toMatchObject(OK);
    expect(new Set(own.requests.map(({ headers }) => headers['svc-event-id'])).size).toBe(30);
  });

  test('and closed by the receiver while the next request is on its way is no failure: it is made once more, on a new one', async () => {
    const own = await startReceiver();
    own.on('/', (response, request, socket) => {
      const isSecond =
        own.requests.filter(({ connection }) => connection === request.connection).length > 1;
      if (isSecond) socket.destroy();
      else response.end('ok');
    });
    const endpoint = await createEndpoint(own.url);
    expect(await ping(endpoint)).toMatchObject(OK);
    expect(await ping(endpoint)).toMatchObject(OK);
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    const [, lost, repeated] = own.requests;
    expect(repeated?.body).toEqual(lost?.body);
    expect(repeated?.headers['svc-event-id']).toBe(lost?.headers['svc-event-id']);
  });

  test('and closed like that again on the new one is a failure after all', async () => {
    const own = await startReceiver();
    own.on(
      '/',
      inTurn(status(200), (_response, _request, socket) => socket.destroy()),
    );
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject(failed('connection_closed'));
    expect(own.requests).toHaveLength(3);
  });

  test('is given up after an answer that was not read to its end, so nothing of it becomes the next answer', async () => {
    const own = await startReceiver();
    own.on('/', inTurn(status(200, 'x'.repeat(1_000_000)), status(200, 'mine')));
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject({ ...OK, response_excerpt: 'mine' });
    expect(own.connections()).toBe(2);
  });

  test('carries no answer that came unasked', async () => {
    const own = await startReceiver();
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n';
    own.on('/', inTurn(raw(`${answer}first${answer}wrong`), status(500, 'true')));
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject({
      ...FAILED,
      response_code: 500,
      response_excerpt: 'true',
    });
  });
});

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('%i is a failure, and is not followed', async (code) => {
    const second = await startReceiver();
    const { row } = await pingTo(status(code, 'over there', { location: `${second.url}/there` }));
    expect(row).toMatchObject({ ...FAILED, response_code: code, response_excerpt: 'over there' });
    expect(second.connections()).toBe(0);
  });
});

describe('a receiver by https', () => {
  const { KEY: key } = certificates;
  const pingTls = async (cert: string): Promise<{ row: Row; requests: number }> => {
    const own = await startReceiver({ cert, key });
    const row = await ping(await createEndpoint(`${own.url}/`));
    return { row, requests: own.requests.length };
  };

  beforeAll(() => {
    const known = getCACertificates('default');
    setDefaultCACertificates([...known, certificates.AUTHORITY]);
    return () => setDefaultCACertificates(known);
  });

  test('with a certificate of an authority that is trusted, and its name, gets it', async () => {
    expect(await pingTls(certificates.GOOD)).toMatchObject({ row: OK, requests: 1 });
  });

  test.each([
    ['made by itself', certificates.SELF_SIGNED],
    ['of another name', certificates.OF_ANOTHER_NAME],
    ['that has expired', certificates.EXPIRED],
  ])('with a certificate %s gets nothing', async (_what, cert) => {
    expect(await pingTls(cert)).toMatchObject({ row: failed('tls_error'), requests: 0 });
  });

  test('that speaks plain http gets nothing', async () => {
    const before = receiver.requests.length;
    expect(
      await ping(await createEndpoint(`https://receiver.test:${receiver.port}/`)),
    ).toMatchObject({
      ...failed('tls_error'),
    });
    expect(receiver.requests.length).toBe(before);
  });
});

test('none of all this was a fault of the delivery loop', () => {
  // Warnings are of a database that is slow to answer, on a machine that is busy with other tests.
  expect(deliveries.logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});

/** A server of bytes. */
async function startRaw(
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
