// Connections to receivers: broken, kept, redirected and encrypted ones.
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Client } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newAnswer, post } from '../../src/delivery/request.ts';
import { createSender } from '../../src/delivery/sender.ts';
import * as certificates from '../support/certificates.ts';
import { findFreePort } from '../support/ports.ts';
import { inTurn, raw, startReceiver, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  createEndpoint,
  failed,
  FAILED,
  loggedErrors,
  OK,
  ping,
  pings,
  pingTo,
  pingToNew,
  receiver,
  startRaw,
  useWebhookPings,
  type Row,
} from '../support/webhook-pings.ts';

useWebhookPings();

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const CLOSING_HALF = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nsome';
const HALF_BODY = 'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nsome';

describe('an attempt fails when the receiver closes the connection', () => {
  test('before it answers; only one request is made', async () => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.destroy());
    expect(row).toMatchObject(failed('connection_closed'));
    expect(requests).toBe(1);
  });

  test('with a reset', async () => {
    expect(
      (await pingTo((_response, _request, socket) => socket.resetAndDestroy())).row,
    ).toMatchObject(failed('connection_closed'));
  });

  test('as soon as it is open', async () => {
    const server = await startRaw((socket) => socket.destroy());
    expect(await ping(await createEndpoint(`http://receiver.test:${server.port}/`))).toMatchObject(
      failed('connection_closed'),
    );
    expect(server.connections()).toBe(1);
  });

  test.each([
    ['in the middle of its headers', 'HTTP/1.1 200 OK\r\nX-Half: '],
    ['in the middle of its body', HALF_BODY],
    ['in the middle of its body, as announced', CLOSING_HALF],
    ['in the middle of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe'],
  ])('%s', async (_when, text) => {
    const { row, requests } = await pingToNew((_response, _request, socket) => socket.end(text));
    expect(row).toMatchObject(failed('connection_closed'));
    expect(requests).toBe(1);
  });

  test('or does not accept it', async () => {
    const url = `http://receiver.test:${await findFreePort()}/`;
    expect(await ping(await createEndpoint(url))).toMatchObject(failed('connection_refused'));
  });
});

describe('a kept connection', () => {
  test('is used again', async () => {
    const own = await startReceiver();
    const endpoint = await createEndpoint(own.url);
    for (let n = 0; n < 5; n += 1) expect(await ping(endpoint)).toMatchObject(OK);
    expect(own.connections()).toBe(1);
  });

  test('is not used for a name that leads to another address by now', async () => {
    const own = await startReceiver();
    const addresses = ['127.0.0.1', '127.0.0.2'];
    const lookup = async () => [{ address: addresses.shift() ?? '', family: 4 }];
    const sender = createSender({ allowPrivateTargets: true, lookup, timeoutMs: 60_000 });
    onTestFinished(() => sender.close());
    const url = `http://receiver.test:${own.port}/`;
    expect(await sender.send(url, {}, '')).toMatchObject({ ok: true });
    // Nobody listens at the other address.
    expect(await sender.send(url, {}, '')).toMatchObject({ error: 'connection_refused' });
    expect(own.requests).toHaveLength(1);
  });

  test('that the receiver closes after each answer without notice is no failure', async () => {
    const own = await startReceiver();
    own.on('/', (response, _request, socket) => response.end('ok', () => socket.end()));
    const endpoint = await createEndpoint(own.url);
    for (const row of await pings(endpoint, 30)) expect(row).toMatchObject(OK);
    expect(new Set(own.requests.map(({ headers }) => headers['svc-event-id'])).size).toBe(30);
  });

  test('that the receiver closes during a request: one more request, on a new one', async () => {
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

  test('that the receiver closes, beside another kept one: on a new one', async () => {
    const own = await startReceiver();
    const sender = createSender({ allowPrivateTargets: true, timeoutMs: 60_000 });
    onTestFinished(() => sender.close());
    const waiting: (() => void)[] = [];
    own.on('/', (response, { connection }, socket) => {
      if (own.requests.length > 2 && connection <= 2) socket.destroy();
      else if (connection > 2) response.end('ok');
      else waiting.push(() => response.end('ok'));
    });
    const url = `http://127.0.0.1:${own.port}/`;
    const both = [sender.send(url, {}, ''), sender.send(url, {}, '')];
    await until(() => waiting.length === 2);
    for (const answer of waiting) answer();
    for (const result of await Promise.all(both)) expect(result).toMatchObject({ ok: true });
    expect(await sender.send(url, {}, 'once more')).toMatchObject({ ok: true });
    expect(own.requests.slice(2).map(({ connection }) => connection > 2)).toEqual([false, true]);
  });

  test('that the receiver closes during both requests is a failure', async () => {
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

  test('that the receiver closes in the middle of its answer: no more request', async () => {
    const own = await startReceiver();
    own.on(
      '/',
      inTurn(status(200), (_response, _request, socket) => socket.end(HALF_BODY)),
    );
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject(failed('connection_closed'));
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 1]);
  });

  test('that was closed between two requests: one more request, as on any new one', async () => {
    const own = await startReceiver();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    own.on(
      '/',
      inTurn(
        (response, _request, socket) => {
          socket.once('close', () => resolve());
          response.end('ok', () => socket.end());
        },
        (_response, _request, socket) => socket.destroy(),
      ),
    );
    const endpoint = await createEndpoint(own.url);
    expect(await ping(endpoint)).toMatchObject(OK);
    // The sender has closed its side, too.
    await closed;
    expect(await ping(endpoint)).toMatchObject(failed('connection_closed'));
    expect(own.requests.map(({ connection }) => connection)).toEqual([1, 2]);
  });

  test('is not used again after an answer that was not read to its end', async () => {
    const own = await startReceiver();
    own.on('/', inTurn(status(200, 'x'.repeat(1_000_000)), status(200, 'mine')));
    const endpoint = await createEndpoint(own.url);
    await ping(endpoint);
    expect(await ping(endpoint)).toMatchObject({ ...OK, response_excerpt: 'mine' });
    expect(own.connections()).toBe(2);
  });

  test('does not deliver a surplus answer as the answer to the next request', async () => {
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

test('a request whose time is over before its connection is open is not sent', async () => {
  const own = await startReceiver();
  const client = new Client(`http://127.0.0.1:${own.port}`);
  onTestFinished(() => client.destroy());
  const deadline = { isOver: false, abort: null };
  const request = { path: '/', headers: {}, body: '', readMaxBytes: 1, deadline };
  const posted = post(client, request, newAnswer());
  // The connection opens in a later turn of the event loop.
  deadline.isOver = true;
  await expect(posted).rejects.toThrow('timeout');
  expect(own.requests).toEqual([]);
});

describe('an answer is broken off', () => {
  /** Attempts a request to a server that sends `begin`, and then `piece` again and again. */
  async function flooded(begin: string, piece: string): Promise<{ error: unknown; sent: number }> {
    let sent = 0;
    const server = await startRaw((socket) =>
      socket.once('data', () => {
        const pour = (): void => {
          while (!socket.destroyed) {
            sent += piece.length;
            if (!socket.write(piece)) break;
          }
        };
        socket.on('drain', pour).write(begin);
        pour();
      }),
    );
    const sender = createSender({ allowPrivateTargets: true, timeoutMs: 60_000 });
    onTestFinished(() => sender.close());
    const { error } = await sender.send(`http://127.0.0.1:${server.port}/`, {}, '');
    return { error, sent };
  }

  /** What fits into the buffers of both sides, and more than is ever read. */
  const UNREAD_MAX_BYTES = 20_000_000;

  test.each([
    { what: 'interim responses', begin: '', piece: 'HTTP/1.1 103 a\r\n\r\n'.repeat(4_000) },
    { what: '"continue"', begin: '', piece: 'HTTP/1.1 100 a\r\n\r\n'.repeat(4_000) },
    { what: 'empty lines before it', begin: '', piece: '\r\n'.repeat(32_000) },
    { what: 'chunk extensions', begin: CHUNKED, piece: `1;${'a'.repeat(60_000)}\r\na\r\n` },
    { what: 'one chunk extension', begin: `${CHUNKED}1;`, piece: 'a'.repeat(60_000) },
    { what: 'one status line', begin: 'HTTP/1.1 200 ', piece: 'a'.repeat(60_000) },
  ])('that has $what without end', async ({ begin, piece }) => {
    const { error, sent } = await flooded(begin, piece);
    expect(error).toBe('invalid_response');
    expect(sent).toBeLessThan(UNREAD_MAX_BYTES);
  });

  test('after twenty interim responses, however short they are', async () => {
    const hints = (count: number): string =>
      `${'HTTP/1.1 103 a\r\n\r\n'.repeat(count)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`;
    expect((await pingTo(raw(hints(20)))).row).toMatchObject(OK);
    expect((await pingTo(raw(hints(21)))).row).toMatchObject(failed('invalid_response'));
  });

  test('never for the length of earlier answers on its connection', async () => {
    const own = await startReceiver();
    own.on('/', status(200, 'ok', { 'x-long': 'x'.repeat(12_000) }));
    const endpoint = await createEndpoint(own.url);
    for (let n = 0; n < 5; n += 1) expect(await ping(endpoint)).toMatchObject(OK);
    expect(own.connections()).toBe(1);
  });
});

test('an answer in very small pieces keeps no more memory than its excerpt', async () => {
  const piece = `1;${'a'.repeat(60_000)}\r\na\r\n`;
  const client = new Client(`http://127.0.0.1:${receiver.port}`);
  onTestFinished(() => client.destroy());
  receiver.on('/pieces', raw(CHUNKED + piece.repeat(2) + '0\r\n\r\n'));
  const deadline = { isOver: false, abort: null };
  const request = { path: '/pieces', headers: {}, body: '', readMaxBytes: 10, deadline };
  const answer = newAnswer();
  await post(client, request, answer);
  expect(answer.body?.toString('latin1', 0, answer.sizeBytes)).toBe('aa');
  expect(answer.body?.buffer.byteLength).toBe(request.readMaxBytes);
});

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])('%i is a failure and is not followed', async (code) => {
    const second = await startReceiver();
    const { row } = await pingTo(status(code, 'over there', { location: `${second.url}/there` }));
    expect(row).toMatchObject({ ...FAILED, response_code: code, response_excerpt: 'over there' });
    expect(second.connections()).toBe(0);
  });
});

describe('a receiver with https', () => {
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

  test('gets the request if a trusted authority signed its certificate for its name', async () => {
    expect(await pingTls(certificates.GOOD)).toMatchObject({ row: OK, requests: 1 });
  });

  test.each([
    ['is self-signed', certificates.SELF_SIGNED, 'tls_unknown_issuer'],
    ['has another name', certificates.OF_ANOTHER_NAME, 'tls_wrong_name'],
    ['has expired', certificates.EXPIRED, 'tls_certificate_expired'],
  ])('gets nothing if its certificate %s, and the row says so', async (_what, cert, reason) => {
    expect(await pingTls(cert)).toMatchObject({ row: failed(reason), requests: 0 });
  });

  test('gets nothing if it speaks plain http', async () => {
    const before = receiver.requests.length;
    expect(
      await ping(await createEndpoint(`https://receiver.test:${receiver.port}/`)),
    ).toMatchObject({
      ...failed('tls_error'),
    });
    expect(receiver.requests.length).toBe(before);
  });
});

test('none of these receivers made the delivery loop log an error', () => {
  expect(loggedErrors()).toEqual([]);
});
