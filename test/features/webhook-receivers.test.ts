// Receivers that respond late, too much, too little or wrongly. Each attempt ends in time, as a
// delivery that says what happened.
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { inTurn, raw, startReceiver, status, type Behaviour } from '../support/receiver.ts';
import {
  createEndpoint,
  failed,
  FAILED,
  findThisMachine,
  loggedErrors,
  OK,
  ping,
  pingTo,
  pingToNew,
  startRaw,
  useTimeout,
  useWebhookPings,
} from '../support/webhook-pings.ts';

const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

/** The timeout for receivers that take their time. */
const TIMEOUT_MS = 600;
const DROP_MS = 50;

useWebhookPings();

describe('an attempt ends in a timeout when the receiver', () => {
  const sender = useTimeout(TIMEOUT_MS, async (name) => {
    if (name !== 'silent.test') return findThisMachine();
    setImmediate(() => sender.advance(TIMEOUT_MS));
    return new Promise(() => undefined);
  });

  /** Writes `head`, and then `drop` every 50 ms as long as the connection is open. */
  const drip =
    (head: string, drop: string): Behaviour =>
    async (_response, _request, socket) => {
      for (let text = head; !socket.destroyed; text = drop) {
        await new Promise((done) => socket.write(text, done));
        await new Promise(setImmediate);
        sender.advance(DROP_MS);
      }
    };

  test.each<[string, Behaviour]>([
    ['takes the request and does not answer', drip('', '')],
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
    ['promises more than it sends', drip('HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nsome', '')],
    ['sends nothing but early hints', drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['sends nothing but "continue"', drip('', 'HTTP/1.1 100 Continue\r\n\r\n')],
  ])('%s', async (_what, behaviour) => {
    const { row } = await pingTo(behaviour);
    expect(row).toMatchObject({ ...failed('timeout'), response_ms: TIMEOUT_MS });
  });

  test('accepts the connection and nothing more', async () => {
    const server = await startRaw(() => sender.advance(TIMEOUT_MS));
    expect(await ping(await createEndpoint(`https://receiver.test:${server.port}/`))).toMatchObject(
      failed('timeout'),
    );
  });

  test('has a name whose lookup never ends', async () => {
    const row = await ping(await createEndpoint('https://silent.test/'));
    expect(row).toMatchObject(failed('timeout'));
  });
});

describe('a response that is too long', () => {
  const CHUNK = Buffer.alloc(64 * 1024, 'x');
  const SIZE = 500 * 1024 * 1024;
  /**
   * Responds with 500 MB, as fast as they are taken. `sent` returns how many bytes were taken,
   * including what is in the buffers of the sockets.
   */
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
  ])('500 MB %s: only the part that is kept is read', async (_how, headers) => {
    const { behaviour, sent } = flood(headers);
    const { row } = await pingTo(behaviour);
    expect(row).toMatchObject({ ...OK, response_code: 200, response_excerpt: 'x'.repeat(1000) });
    // What fits into the buffers of two sockets, far less than all of it.
    expect(sent()).toBeLessThan(20 * 1024 * 1024);
  });

  test.each([
    ['one header of 64 KB', `HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(64 * 1024)}\r\n\r\n`],
    ['a thousand headers', `HTTP/1.1 200 OK\r\n${'X-Many: 0123456789abcdef\r\n'.repeat(1000)}\r\n`],
  ])('%s', async (_what, text) => {
    expect((await pingTo(raw(text))).row).toMatchObject(failed('response_headers_too_large'));
  });

  test.each<[string, Buffer | string, string]>([
    ['more than 1000 characters are cut', 'é'.repeat(1500), 'é'.repeat(1000)],
    ['exactly 1000 characters are kept', 'é'.repeat(1000), 'é'.repeat(1000)],
    ['an emoji counts once and is not cut', '🎯'.repeat(1500), '🎯'.repeat(1000)],
    ['an emoji after one byte is not cut', `a${'🎯'.repeat(1500)}`, `a${'🎯'.repeat(999)}`],
    ['a byte order mark does not count', `\uFEFF${'🎯'.repeat(1500)}`, '🎯'.repeat(1000)],
    ['a NUL, which Postgres cannot store, is replaced', 'a\0b', 'a\uFFFDb'],
    [
      'invalid UTF-8 is replaced',
      Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62]),
      'a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFDb',
    ],
    ['each invalid byte counts as one character', Buffer.alloc(5000, 0xff), '\uFFFD'.repeat(1000)],
  ])('of the body, %s', async (_what, body, excerpt) => {
    const { row } = await pingTo(status(500, body));
    expect(row).toMatchObject({ ...FAILED, response_code: 500, error: null });
    expect(row.response_excerpt).toBe(excerpt);
  });
});

test.each(['gzip', 'br', 'x-gzip, deflate'])(
  'of a body compressed with %s, the encoding is told',
  async (encoding) => {
    const body = gzipSync('what went wrong');
    const { row } = await pingTo(status(500, body, { 'content-encoding': encoding }));
    expect(row.response_excerpt).toBe(`[content-encoding: ${encoding}]`);
  },
);

describe('a response with an empty body is a success', () => {
  test.each<[string, Behaviour, number]>([
    ['204 without a body', status(204), 204],
    ['200 with an empty body', status(200, ''), 200],
    [
      'HTTP/1.0, ended by the end of the connection',
      (_r, _q, socket) => socket.end('HTTP/1.0 200 OK\r\n\r\n'),
      200,
    ],
    [
      'early hints, then 202',
      raw(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' +
          'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n',
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

describe('a receiver that breaks the rules of HTTP fails the attempt when it', () => {
  test.each([
    'hello\r\n\r\n',
    'HTTP/9.9 999 Whatever\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello',
    'HTTP/1.1 2OO OK\r\n\r\n',
    'HTTP/1.1 099 Early\r\n\r\n',
    'HTTP/1.1 101 Switching\r\n\r\n',
    SWITCHING,
    '\0\0\0\0',
  ])('answers %j', async (text) => {
    expect((await pingTo(raw(text))).row).toMatchObject(failed('invalid_response'));
  });

  test.each([
    'Content-Length: -5',
    'Content-Length:',
    'Content-Length: 5, 5',
    'Content-Length: 5\r\nContent-Length: 5',
    'Content-Length: 5\r\nContent-Length: 6',
    'No colon',
    'Content-Length: 5\r\nNo colon',
    'X-Space : before the colon',
    ': no name',
  ])('has the headers %j', async (headers) => {
    const { row } = await pingTo(raw(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\nhello`));
    expect(row).toMatchObject(failed('invalid_headers'));
  });

  test('sends a chunk without a length', async () => {
    const { row } = await pingTo(
      raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
    );
    expect(row).toMatchObject(failed('invalid_response'));
  });

  test('sends something before the request', async () => {
    const server = await startRaw((socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n'));
    const row = await ping(await createEndpoint(`http://receiver.test:${server.port}/`));
    expect(row).toMatchObject({ ...FAILED, response_code: null });
    expect(['invalid_response', 'connection_closed']).toContain(row.error);
  });
});

describe('a receiver that breaks them where `curl` does not mind is understood when it', () => {
  const BODY = '\r\nContent-Length: 4\r\n\r\nbody';

  test.each([
    ['folds a header line', `HTTP/1.1 200 OK\r\nX-Folded: one\r\n two${BODY}`],
    ['folds one with a tab', `HTTP/1.1 200 OK\r\nX-Folded: one\r\n\ttwo${BODY}`],
    ['folds the length', 'HTTP/1.1 200 OK\r\nContent-Length:\r\n 4\r\n\r\nbody'],
    ['ends its lines with LF alone', `HTTP/1.1 200 OK\nX-One: 1${BODY}`.replaceAll('\r', '')],
    ['mixes the ends of its lines', `HTTP/1.1 200 OK\r\nX-One: 1\nX-Two: 2${BODY}`],
    ['has control characters in a header', `HTTP/1.1 200 OK\r\nX-Bell: \0\x07${BODY}`],
  ])('%s', async (_what, text) => {
    const { row } = await pingTo(raw(text));
    expect(row).toMatchObject({ ...OK, response_code: 200, response_excerpt: 'body' });
  });

  test('names its encoding with a NUL, which Postgres cannot store', async () => {
    const { row } = await pingTo(raw(`HTTP/1.1 200 OK\r\nContent-Encoding: g\0zip${BODY}`));
    expect(row).toMatchObject({ ...OK, response_excerpt: '[content-encoding: g\uFFFDzip]' });
  });
});

describe('an informational response is not the answer', () => {
  const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nRetry-After: 7200\r\n\r\n';
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const CLOSING = 'HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n';
  const finish = (text: string): Behaviour => raw(`${text}Content-Length: 4\r\n\r\nbody`);

  test.each([
    ['early hints', HINTS],
    ['early hints, twice', HINTS + HINTS],
    ['"processing"', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['"continue"', CONTINUE],
    ['early hints and "continue"', HINTS + CONTINUE],
    ['early hints and half a status', `${HINTS}HTTP/1.1 20`],
  ])('%s, then the end of the connection: a failed attempt', async (_what, text) => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.end(text));
    expect(row).toMatchObject(failed('connection_closed'));
    expect(requests).toBe(1);
  });

  test.each([
    ['early hints', HINTS],
    ['"continue"', CONTINUE],
    ['"continue", three times', CONTINUE.repeat(3)],
    ['"continue", early hints and "continue"', CONTINUE + HINTS + CONTINUE],
    ['"continue" with a length', 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n'],
    ['"continue" and the offer of another protocol', SWITCHING.replace('101', '100')],
    ['"continue" of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
    ['"continue" and the end of the connection after it', CLOSING],
  ])('%s, followed by a 200: a success, with the body of the 200', async (_what, text) => {
    const { row } = await pingToNew(finish(`${text}HTTP/1.1 200 OK\r\n`));
    expect(row).toMatchObject({ ...OK, response_code: 200, response_excerpt: 'body' });
  });

  test('"continue", in packets of a letter: passed over', async () => {
    const { row } = await pingToNew(async (_response, _request, socket) => {
      socket.setNoDelay(true);
      for (const letter of `${CONTINUE}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody`)
        await new Promise((done) => socket.write(letter, () => setImmediate(done)));
    });
    expect(row).toMatchObject({ ...OK, response_code: 200, response_excerpt: 'body' });
  });

  test('"continue" does not end the use of its connection', async () => {
    const own = await startReceiver();
    own.on('/', finish(`${CONTINUE}HTTP/1.1 200 OK\r\n`));
    const endpoint = await createEndpoint(own.url);
    for (let n = 0; n < 3; n += 1) expect(await ping(endpoint)).toMatchObject(OK);
    expect(own.connections()).toBe(1);
  });

  test.each([500, 503])('followed by a %i: a failure', async (code) => {
    const { row } = await pingToNew(finish(`${HINTS}HTTP/1.1 ${code} No\r\n`));
    expect(row).toMatchObject({
      ...FAILED,
      response_code: code,
      response_excerpt: 'body',
      error: null,
      // The Retry-After of the early hints does not count.
      next_try_at: '2026-11-02T09:01:00.000Z',
    });
  });

  test('but another protocol, which nobody asked for, fails it; it is not sent again', async () => {
    const own = await startReceiver();
    const unasked = finish(`${SWITCHING}HTTP/1.1 200 OK\r\n`);
    own.on('/', inTurn(status(200), unasked, unasked));
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject(failed('invalid_response'));
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1]);
    expect(await ping(endpoint)).toMatchObject(failed('invalid_response'));
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  test('on a kept connection that then closes: one more request, on a new connection', async () => {
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

test('none of these receivers made the delivery loop log an error', () => {
  expect(loggedErrors()).toEqual([]);
});
